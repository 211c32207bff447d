{#- k_anonymity('table', ...) and the like: what is achieved, and the ten worst classes of each sensitive column. -#}
{% include 'audit/anonymity/inputs.sql' %},
{% include 'audit/anonymity/sensitive_values.sql' %}
SELECT a.model, a.sensitive, a.achieved, a.better, a.class, a.size, a.value
FROM problem AS p
LEFT JOIN (
    {% for m in models %}
    {% set by %}value {% if m.higher %}ASC{% else %}DESC{% endif %}{% for q in quasi %}, q{{ loop.index0 }} ASC NULLS LAST{% endfor %}{% endset %}
    SELECT
        {{ m.number }} AS number, row_number() OVER (ORDER BY {{ by }}) AS place, {{ m.label }} AS model,
        {{ m.sensitive_label }}::VARCHAR AS sensitive,
        (SELECT {% if m.higher %}min{% else %}max{% endif %}(value) FROM value_{{ m.number }}) AS achieved, {{ m.better }} AS better,
        struct_pack({% for q in quasi %}{% if not loop.first %}, {% endif %}{{ q.name }} := q{{ loop.index0 }}{% endfor %}) AS class,
        size, value
    FROM (
        SELECT {% for q in quasi %}k.q{{ loop.index0 }}, {% endfor %}k.size, v.value
        FROM value_{{ m.number }} AS v
        JOIN classes AS k USING (class_id)
        ORDER BY {{ by }}
        LIMIT 10
    )
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
) AS a ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY a.number ASC, a.place ASC
