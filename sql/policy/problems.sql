{#- policy_problems(): what is known when the call is planned, then identifiers whose values repeat, counted when it
    runs. Only how many repeat is told, never a value. -#}
{{ known }}
{% for c in candidates %}
UNION ALL
SELECT {{ c.database }}, {{ c.schema }}, {{ c.table }}, {{ c.column }}, {{ c.problem }}, {{ c.statement }}
FROM ({{ c.count }})
WHERE repeated > 0
{% endfor %}
