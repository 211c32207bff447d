{#- attack('release', kind=..., source=...): one row per guess, the most confident first. -#}
{%- from 'audit/anonymity/inputs.sql' import class_struct with context -%}
{% include 'audit/attacks/inputs.sql' %}
{% include body %},
-- One row: the first reason to give no answer, or NULL.
refusals AS (
    SELECT
        coalesce(m.message, {% if calls_python %}(SELECT message FROM computation_errors){% else %}NULL{% endif %})
            AS message
    FROM misfits AS m
)
SELECT
    g.attribute, g.class, g.records, g.guess, g.confidence, g.baseline_confidence, g.actual_accuracy, g.people, g.note
FROM refusals AS p
LEFT JOIN (
    SELECT
        g.number, g.attribute, CASE WHEN k.class_id IS NOT NULL THEN {{ class_struct('k.') }} END AS class,
        g.records, g.guess, round(g.confidence, 9)::DOUBLE AS confidence,
        round(g.baseline_confidence, 9)::DOUBLE AS baseline_confidence,
        round(g.actual_accuracy, 9)::DOUBLE AS actual_accuracy,
        list_sort(g.identities, 'ASC', 'NULLS LAST')[:100] AS people, g.note
    FROM guesses AS g
    LEFT JOIN classes AS k USING (class_id)
) AS g ON p.message IS NULL
WHERE CASE WHEN p.message IS NULL THEN g.number IS NOT NULL ELSE error(p.message) END
ORDER BY
    g.number ASC, g.confidence DESC, g.records DESC, g.class ASC NULLS LAST, g.guess ASC NULLS LAST,
    g.note ASC NULLS LAST, g.people ASC
