{#- One row per metric of related tables. -#}
SELECT metric, value, better, description, is_publishable
FROM metric_rows
WHERE (SELECT passed FROM gate) AND (SELECT passed FROM stated_check)
ORDER BY place ASC
