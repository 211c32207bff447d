{#- Majority: of all records that somebody fits by their quasi-identifiers, the most frequent sensitive value is guessed.
    A value that is missing is no guess, and nobody is asked about it. Where somebody fits nothing, or nothing with a value,
    it is the release's most frequent one. -#}
-- A row a combination of quasi-identifiers: the classes that it may be in, numbered alike where they are the same.
fitting AS MATERIALIZED (
    SELECT t.tid, f.fits, dense_rank() OVER (ORDER BY f.fits ASC NULLS LAST) AS place
    FROM tuples AS t
    LEFT JOIN (SELECT tid, list(class_id ORDER BY class_id ASC) AS fits FROM pairs GROUP BY tid) AS f USING (tid)
),
-- A row a set of classes that somebody may be in: what it is, and its records.
choice AS MATERIALIZED (
    SELECT s.place, any_value(s.fits) AS fits, sum(k.size) AS size, sum(k.records)::BIGINT AS records
    FROM (SELECT place, fits, unnest(fits) AS class_id FROM (SELECT DISTINCT place, fits FROM fitting)) AS s
    JOIN classes AS k USING (class_id)
    GROUP BY s.place
),
{% for s in sensitive %}
-- A row a set of classes: the value that is guessed, the first of those that are most frequent, and its share.
{{ 'majority'|of(s) }} AS MATERIALIZED (
    SELECT f.place, coalesce(g.value, m.value) AS value, CASE WHEN g.value IS NULL THEN m.share ELSE g.share END AS share, o.size::DOUBLE / (SELECT sum(size) FROM {{ 'overall'|of(s) }}) AS baseline_confidence
    FROM (SELECT DISTINCT place FROM fitting) AS f
    LEFT JOIN (
        SELECT place, value, size / whole AS share, row_number() OVER (PARTITION BY place ORDER BY size DESC, common DESC, value ASC) AS rank
        FROM (
            SELECT c.place, h.value, sum(h.size)::DOUBLE AS size, any_value(c.size)::DOUBLE AS whole, any_value(o.size) AS common
            FROM (SELECT place, size, unnest(fits) AS class_id FROM choice) AS c
            JOIN {{ 'held'|of(s) }} AS h USING (class_id)
            JOIN {{ 'overall'|of(s) }} AS o ON o.value = h.value
            GROUP BY c.place, h.value
        )
        QUALIFY rank = 1
    ) AS g USING (place)
    LEFT JOIN {{ 'mode'|of(s) }} AS m ON true
    LEFT JOIN {{ 'overall'|of(s) }} AS o ON o.value = coalesce(g.value, m.value)
),
-- A row a combination of quasi-identifiers: what their exact values would let guess.
{{ 'exact'|of(s) }} AS MATERIALIZED (
    SELECT tid, value
    FROM (
        SELECT t.tid, e.s{{ s.i }} AS value, row_number() OVER (PARTITION BY t.tid ORDER BY sum(e.records) DESC, any_value(o.size) DESC NULLS LAST, e.s{{ s.i }} ASC) AS rank
        FROM coded AS e
        JOIN tuples AS t ON {% for c in attributes %}{% if not loop.first %} AND {% endif %}t.v{{ c.i }} = e.v{{ c.i }}{% endfor %}

        LEFT JOIN {{ 'overall'|of(s) }} AS o ON o.value = e.s{{ s.i }}
        WHERE e.s{{ s.i }} IS NOT NULL
        GROUP BY t.tid, e.s{{ s.i }}
    )
    WHERE rank = 1
),
-- A row a set of classes: of the people who may be in them, how many are asked about and guessed right.
{{ 'truth'|of(s) }} AS MATERIALIZED (
    SELECT
        f.place, list(DISTINCT e.who) FILTER (WHERE e.who IS NOT NULL) AS who, sum(e.records) FILTER (WHERE e.s{{ s.i }} IS NOT NULL) AS people,
        coalesce(sum(e.records) FILTER (WHERE e.s{{ s.i }} = g.value), 0) AS hits,
        coalesce(sum(e.records) FILTER (WHERE e.s{{ s.i }} = m.value), 0) AS common,
        coalesce(sum(e.records) FILTER (WHERE e.s{{ s.i }} = x.value), 0) AS exact
    FROM people AS e
    JOIN fitting AS f USING (tid)
    JOIN {{ 'majority'|of(s) }} AS g USING (place)
    LEFT JOIN {{ 'mode'|of(s) }} AS m ON true
    LEFT JOIN {{ 'exact'|of(s) }} AS x USING (tid)
    GROUP BY f.place
),
{% endfor %}
-- A row a guess that is shown.
found AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, CASE WHEN len(c.fits) = 1 THEN c.fits[1] END AS class_id, c.records, g.value AS guess, g.share AS confidence, g.baseline_confidence,
        t.hits::DOUBLE / t.people AS actual_accuracy, t.people AS tried, coalesce(t.who, []) AS who,
        CASE WHEN len(c.fits) > 1 THEN 'who fit ' || len(c.fits) || ' classes' END AS note
    FROM {{ 'majority'|of(s) }} AS g
    JOIN choice AS c USING (place)
    JOIN {{ 'truth'|of(s) }} AS t USING (place)
    WHERE g.value IS NOT NULL AND round(g.share, 9) >= {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT v.place + 2 * {{ s.i }} AS place, v.name, {{ s.label }} AS attribute, v.value, v.majority_baseline, v.raw_baseline, v.description
    FROM (
        SELECT sum(people)::DOUBLE AS asked, sum(hits)::DOUBLE / asked AS accuracy, sum(common)::DOUBLE / asked AS majority_baseline, sum(exact)::DOUBLE / asked AS raw_baseline
        FROM {{ 'truth'|of(s) }}
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'accuracy', accuracy, majority_baseline, raw_baseline, 'Share of the people who are guessed right: by the release, by the most frequent value, by the raw data.'),
        (2, 'asked', coalesce(asked, 0), coalesce(asked, 0), coalesce(asked, 0), 'People who were guessed.')
    ) AS v (place, name, value, majority_baseline, raw_baseline, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
