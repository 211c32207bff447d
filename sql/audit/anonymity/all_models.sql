{#- anonymity('table', ...): one row a model and sensitive column. -#}
{% include 'audit/anonymity/inputs.sql' %},
{% include 'audit/anonymity/sensitive_values.sql' %}
SELECT a.model, a.sensitive, a.achieved, a.better, a.worst_classes, a.records_in_worst, a.description
FROM problem AS p
LEFT JOIN (
    {% for m in models %}
    SELECT
        {{ m.number }} AS number, {{ m.label }} AS model, {{ m.sensitive_label }}::VARCHAR AS sensitive,
        any_value(v.value) AS achieved, {{ m.better }} AS better, count(*) AS worst_classes,
        sum(k.records)::BIGINT AS records_in_worst, {{ m.what }} AS description
    FROM value_{{ m.number }} AS v
    JOIN classes AS k USING (class_id)
    WHERE v.value = (SELECT {% if m.higher %}min{% else %}max{% endif %}(value) FROM value_{{ m.number }})
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
) AS a ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY a.number ASC
