{#- policy_problems(): what is known when the call is planned, then identifiers whose values repeat and records that
    unchanged columns single out, counted when it runs. Only their numbers are returned, never a value. -#}
{{ known }}
{% for c in candidates %}
UNION ALL
SELECT
    {{ c.database }}, {{ c.schema }}, {{ c.table }}, {{ c.column }},
    {{ c.problem }},
    {{ c.statement }}
FROM ({{ c.count }})
WHERE repeated > 0
{% endfor %}
{% for c in limits %}
UNION ALL
SELECT
    {{ c.database }}, {{ c.schema }}, {{ c.table }}, column_names[limited_place + 1],
    {{ c.problem }},
    statements[place + 1]
FROM (
    SELECT
        *,
        {{ c.statements }} AS statements,
        {{ c.names }} AS column_names,
        {{ c.roles }} AS roles,
        {{ c.limits }} AS limits
    FROM ({{ c.count }})
)
{% endfor %}
