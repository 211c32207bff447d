{#- The rows that are returned: those of `published_rows` and no others, each as often as it has copies, in the order
    of their places. -#}
SELECT * EXCLUDE ({{ copies }}, {{ place }}, {{ copy }})
FROM (
    SELECT *, unnest({{ copies }}) AS {{ copy }}
    FROM (FROM published_rows WHERE (SELECT passed FROM gate) ORDER BY {{ place }} ASC)
)
