{#- anonymity('table', ...): one row per model and sensitive column. -#}
{% include 'audit/anonymity/inputs.sql' %}
{% include 'audit/anonymity/problems.sql' %},
{% include 'audit/anonymity/sensitive_values.sql' %},
-- One row per model: what the worst of its classes achieve.
achieved_values AS (
    SELECT number, min(value) AS min_value, max(value) AS max_value FROM class_values GROUP BY number
),
-- One row per model and sensitive column.
models AS (
    SELECT *
    FROM (
        VALUES
        {% for m in models %}
        ({{ m.number }}, {{ m.label }}, {{ m.sensitive_label }}::VARCHAR, {{ m.better }},
            {{ m.what }}){% if not loop.last %},{% endif +%}
        {% endfor %}
    ) AS m (number, model, sensitive, better, description)
)
SELECT a.model, a.sensitive, a.achieved, a.better, a.worst_classes, a.records_in_worst, a.description
FROM problems AS p
LEFT JOIN (
    SELECT
        m.number, m.model, m.sensitive, any_value(v.value) AS achieved, m.better, count(*) AS worst_classes,
        sum(k.records)::BIGINT AS records_in_worst, m.description
    FROM models AS m
    JOIN achieved_values AS a ON a.number = m.number
    JOIN class_values AS v
        ON v.number = m.number AND v.value = CASE m.better WHEN 'higher' THEN a.min_value ELSE a.max_value END
    JOIN classes AS k USING (class_id)
    GROUP BY ALL
) AS a ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY a.number ASC
