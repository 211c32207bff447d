{#- NAME('table', ...) of related tables: the released rows of the table that the call names. -#}
{% include 'release/related/pipeline.sql' %}
SELECT * EXCLUDE ({{ row }}, {{ place }})
FROM {{ 'published rows'|of(asked) }}
WHERE (SELECT passed FROM gate)
ORDER BY {{ place }} ASC
