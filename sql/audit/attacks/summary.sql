{#- attack_summary('release', kind=..., source=...): what the attack gains in all, one row per metric. -#}
{% include 'audit/attacks/inputs.sql' %}
{% include body %},
-- One row: the first reason to give no answer, or NULL.
refusals AS (
    SELECT
        coalesce(m.message, {% if calls_python %}(SELECT message FROM computation_errors){% else %}NULL{% endif %})
            AS message
    FROM misfits AS m
),
-- One row per column that is guessed, in the order in which it is shown.
targets AS (
    SELECT *
    FROM (
        VALUES
        {% for t in targets %}
        ({{ loop.index0 }}, {{ t.number }}, {{ t.label }}::VARCHAR){% if not loop.last %},{% endif +%}
        {% endfor %}
    ) AS t (place, number, attribute)
),
-- One row per such column and metric of its guesses.
gains AS (
    SELECT t.place * 100 + v.place AS place, v.name, t.attribute, v.value, v.description
    FROM targets AS t
    LEFT JOIN (
        SELECT
            number, count(*)::DOUBLE AS guesses, sum(confidence * weight) / sum(weight) AS confidence,
            sum(actual_accuracy * n_tried) FILTER (WHERE actual_accuracy IS NOT NULL)
                / sum(n_tried) FILTER (WHERE actual_accuracy IS NOT NULL) AS actual_accuracy,
            sum(baseline_confidence * weight) / sum(weight) AS baseline_confidence
        FROM (SELECT *, {% if weighs_people %}n_tried{% else %}records{% endif %} AS weight FROM guesses)
        GROUP BY number
    ) AS a ON a.number = t.number
    LEFT JOIN (
        SELECT number, count(DISTINCT identity)::DOUBLE AS exposed_people
        FROM (SELECT number, unnest(identities) AS identity FROM guesses)
        GROUP BY number
    ) AS b ON b.number = t.number
    CROSS JOIN LATERAL (VALUES
        (1, 'guesses', coalesce(a.guesses, 0), 'Rows of attack(): guesses that reach the threshold.'),
        (2, 'exposed_people', coalesce(b.exposed_people, 0),
            'Different people whom the guesses are about (quasi-identifiers, if no column identifies people).'),
        (3, 'confidence', coalesce(a.confidence, 0), 'Average confidence of the attacker in the guesses.'),
        (4, 'baseline_confidence', coalesce(a.baseline_confidence, 0),
            'Average confidence of the attacker without the release.'),
        (5, 'actual_accuracy', a.actual_accuracy,
            'Share of right guesses, as far as the source shows whom they are about; NULL if it shows it for none.')
    ) AS v (place, name, value, description)
)
SELECT s.name, s.attribute, s.value, s.majority_baseline, s.raw_baseline, s.description
FROM refusals AS p
LEFT JOIN (
    SELECT
        place, name, attribute, round(value, 9)::DOUBLE AS value, NULL::DOUBLE AS majority_baseline,
        NULL::DOUBLE AS raw_baseline, description
    FROM gains
    UNION ALL
    SELECT
        place - 1000, name, attribute, round(value, 9)::DOUBLE, round(majority_baseline, 9)::DOUBLE,
        round(raw_baseline, 9)::DOUBLE, description
    FROM totals
) AS s ON p.message IS NULL
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY s.place ASC
