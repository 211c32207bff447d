{#- The rows leave: nothing but those of `published_rows`, each as often as it has copies, in the order of their places. -#}
SELECT * EXCLUDE ({{ copies }}, {{ place }}, {{ copy }})
FROM (
    SELECT *, unnest({{ copies }}) AS {{ copy }}
    FROM (FROM published_rows WHERE (SELECT passed FROM gate) ORDER BY {{ place }} ASC)
)
