{#- attack('release', kind=..., source=...): one row a guess, the surest first. -#}
{% include 'audit/attacks/inputs.sql' %}
{% include body %},
-- One row: the first reason to give no answer, or NULL.
stop AS (SELECT coalesce(m.message, {% if calls_python %}(SELECT message FROM failed){% else %}NULL{% endif %}) AS message FROM misfit AS m)
SELECT
    f.attribute, f.class, f.records, f.guess, f.confidence, f.baseline_confidence, f.actual_accuracy, f.people, f.note
FROM stop AS p
LEFT JOIN (
    SELECT
        f.number, f.attribute,
        CASE WHEN k.class_id IS NOT NULL THEN struct_pack({% for q in quasi %}{{ q.name }} := k.q{{ loop.index0 }}{% if not loop.last %}, {% endif %}{% endfor %}) END AS class,
        f.records, f.guess, round(f.confidence, 9)::DOUBLE AS confidence, round(f.baseline_confidence, 9)::DOUBLE AS baseline_confidence, round(f.actual_accuracy, 9)::DOUBLE AS actual_accuracy,
        list_sort(f.who, 'ASC', 'NULLS LAST')[:100] AS people, f.note
    FROM found AS f
    LEFT JOIN classes AS k USING (class_id)
) AS f ON p.message IS NULL
WHERE CASE WHEN p.message IS NULL THEN f.number IS NOT NULL ELSE error(p.message) END
ORDER BY f.number ASC, f.confidence DESC, f.records DESC, f.class ASC NULLS LAST, f.guess ASC NULLS LAST, f.note ASC NULLS LAST, f.people ASC
