{#- k_anonymity('table', ...) and the like: what is achieved, and the ten worst classes of each sensitive column. -#}
{% include 'audit/anonymity/inputs.sql' %}
{% include 'audit/anonymity/problems.sql' %},
{% include 'audit/anonymity/sensitive_values.sql' %}
{% from 'audit/anonymity/inputs.sql' import class_order, class_struct with context %}
SELECT a.model, a.sensitive, a.achieved, a.better, a.class, a.size, a.value
FROM problems AS p
LEFT JOIN (
    {% for m in models %}
    {% set order %}value {% if m.higher %}ASC{% else %}DESC{% endif %}, {{ class_order() }}{% endset %}
    SELECT
        {{ m.number }} AS number, row_number() OVER (ORDER BY {{ order }}) AS place,
        {{ m.label }} AS model, {{ m.sensitive_label }}::VARCHAR AS sensitive,
        (SELECT {% if m.higher %}min{% else %}max{% endif %}(value) FROM class_values WHERE number = {{ m.number }})
            AS achieved,
        {{ m.better }} AS better,
        {{ class_struct() }} AS class,
        size, value
    FROM (
        SELECT k.*, v.value
        FROM class_values AS v
        JOIN classes AS k USING (class_id)
        WHERE v.number = {{ m.number }}
        ORDER BY {{ order }}
        LIMIT 10
    )
    {% if not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
) AS a ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY a.number ASC, a.place ASC
