{#- attack_summary('release', kind=..., source=...): what the attack gains in all, one row a number. -#}
{% include 'audit/attacks/inputs.sql' %}
{% include body %},
-- One row: the first reason to give no answer, or NULL.
stop AS (SELECT coalesce(m.message, {% if calls_python %}(SELECT message FROM failed){% else %}NULL{% endif %}) AS message FROM misfit AS m),
-- A row a number, on the release, by the most frequent value, and on the raw data.
gains AS (
    {% for t in targets %}
    SELECT {{ loop.index0 }} * 100 + place AS place, name, {{ t.label }}::VARCHAR AS attribute, value, NULL::DOUBLE AS by_mode, NULL::DOUBLE AS on_raw, description
    FROM (
        SELECT
            count(*)::DOUBLE AS guesses, count(DISTINCT class_id)::DOUBLE AS classes, coalesce(sum(confidence * weight) / sum(weight), 0) AS confidence,
            sum(observed * tried) FILTER (WHERE observed IS NOT NULL) / sum(tried) FILTER (WHERE observed IS NOT NULL) AS observed,
            coalesce(sum(prior * weight) / sum(weight), 0) AS prior
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
        (4, 'prior', a.prior, 'How sure the attacker would be without the release.'),
        (5, 'observed', a.observed, 'Share of them that is right, by the source; NULL where nobody can tell.')
    ) AS v (place, name, value, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
SELECT s.name, s.attribute, s.value, s.by_mode, s.on_raw, s.description
FROM stop AS p
LEFT JOIN (
    SELECT place, name, attribute, round(value, 9)::DOUBLE AS value, round(by_mode, 9)::DOUBLE AS by_mode, round(on_raw, 9)::DOUBLE AS on_raw, description FROM gains
    UNION ALL
    SELECT place - 1000, name, attribute, round(value, 9)::DOUBLE, round(by_mode, 9)::DOUBLE, round(on_raw, 9)::DOUBLE, description FROM totals
) AS s ON p.message IS NULL
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY s.place ASC
