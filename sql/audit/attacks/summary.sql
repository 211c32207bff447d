{#- attack_summary('release', kind=..., source=...): what the attack gains in all, one row a number. -#}
{% include 'audit/attacks/inputs.sql' %}
{% include body %},
-- One row: the first reason to give no answer, or NULL.
stop AS (SELECT coalesce(m.message, {% if calls_python %}(SELECT message FROM failed){% else %}NULL{% endif %}) AS message FROM misfit AS m),
-- A row a number, on the release, by the most frequent value, and on the raw data.
gains AS (
    {% for t in targets %}
    SELECT {{ loop.index0 }} * 100 + place AS place, name, {{ t.label }}::VARCHAR AS attribute, value, NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, description
    FROM (
        SELECT
            count(*)::DOUBLE AS guesses, count(DISTINCT class_id)::DOUBLE AS classes, coalesce(sum(confidence * weight) / sum(weight), 0) AS confidence,
            sum(actual_accuracy * tried) FILTER (WHERE actual_accuracy IS NOT NULL) / sum(tried) FILTER (WHERE actual_accuracy IS NOT NULL) AS actual_accuracy,
            coalesce(sum(baseline_confidence * weight) / sum(weight), 0) AS baseline_confidence
        FROM (SELECT *, {% if weighs_people %}tried{% else %}records{% endif %} AS weight FROM found)
        WHERE number = {{ t.number }}
    ) AS a
    CROSS JOIN (
        SELECT coalesce(count(DISTINCT who), 0)::DOUBLE AS exposed
        FROM (SELECT unnest(who) AS who FROM found WHERE number = {{ t.number }})
    ) AS b
    CROSS JOIN LATERAL (VALUES
        (1, 'guesses', a.guesses, 'Rows of attack(): guesses that are sure enough.'),
        (2, 'exposed_people', b.exposed, 'Different people (quasi-identifiers, where nothing names them) whom they are about.'),
        (3, 'confidence', a.confidence, 'How sure the attacker is of them, on average.'),
        (4, 'baseline_confidence', a.baseline_confidence, 'How sure the attacker would be without the release.'),
        (5, 'actual_accuracy', a.actual_accuracy, 'Share of them that is right, by the source; NULL where nobody can tell.')
    ) AS v (place, name, value, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
SELECT s.name, s.attribute, s.value, s.majority_baseline, s.raw_baseline, s.description
FROM stop AS p
LEFT JOIN (
    SELECT place, name, attribute, round(value, 9)::DOUBLE AS value, round(majority_baseline, 9)::DOUBLE AS majority_baseline, round(raw_baseline, 9)::DOUBLE AS raw_baseline, description FROM gains
    UNION ALL
    SELECT place - 1000, name, attribute, round(value, 9)::DOUBLE, round(majority_baseline, 9)::DOUBLE, round(raw_baseline, 9)::DOUBLE, description FROM totals
) AS s ON p.message IS NULL
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY s.place ASC
