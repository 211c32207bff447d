{#- Majority: of all records that a person fits by the quasi-identifiers, the most frequent sensitive value is
    guessed. A missing value is no guess, and people without a value are not guessed. For people who fit no class, or
    no class with a value, it is the most frequent value of the release. -#}
-- One row per combination of quasi-identifiers: the set of classes that it may be in, numbered by the set.
tuple_class_sets AS MATERIALIZED (
    SELECT t.tuple_id, f.fits, dense_rank() OVER (ORDER BY f.fits ASC NULLS LAST) AS place
    FROM tuples AS t
    LEFT JOIN (
        SELECT
            tuple_id, list(class_id ORDER BY class_id ASC) AS fits FROM candidate_classes GROUP BY tuple_id)
                AS f USING (tuple_id
    )
),
-- One row per set of classes: its records and its size in records or persons.
class_sets AS MATERIALIZED (
    SELECT s.place, any_value(s.fits) AS fits, sum(k.size) AS size, sum(k.records)::BIGINT AS records
    FROM (SELECT place, fits, unnest(fits) AS class_id FROM (SELECT DISTINCT place, fits FROM tuple_class_sets)) AS s
    JOIN classes AS k USING (class_id)
    GROUP BY s.place
),
{% for s in sensitive %}
-- One row per set of classes: its most frequent value, which is guessed, and the share of this value.
{{ 'majority values'|of(s) }} AS MATERIALIZED (
    SELECT
        f.place, coalesce(g.value, m.value) AS value, CASE WHEN g.value IS NULL THEN m.share ELSE g.share END AS share,
        o.size::DOUBLE / (SELECT sum(size) FROM {{ 'values'|of(s) }}) AS baseline_confidence
    FROM (SELECT DISTINCT place FROM tuple_class_sets) AS f
    LEFT JOIN (
        SELECT
            place, value, size / set_size AS share,
            row_number() OVER (PARTITION BY place ORDER BY size DESC, common DESC, value ASC) AS rank
        FROM (
            SELECT
                c.place, h.value, sum(h.size)::DOUBLE AS size, any_value(c.size)::DOUBLE AS set_size,
                any_value(o.size) AS common
            FROM (SELECT place, size, unnest(fits) AS class_id FROM class_sets) AS c
            JOIN {{ 'class values'|of(s) }} AS h USING (class_id)
            JOIN {{ 'values'|of(s) }} AS o ON o.value = h.value
            GROUP BY c.place, h.value
        )
        QUALIFY rank = 1
    ) AS g USING (place)
    LEFT JOIN {{ 'most frequent value'|of(s) }} AS m ON true
    LEFT JOIN {{ 'values'|of(s) }} AS o ON o.value = coalesce(g.value, m.value)
),
-- One row per combination of quasi-identifiers: the most frequent value in the raw data, which is guessed from them.
{{ 'exact values'|of(s) }} AS MATERIALIZED (
    SELECT tuple_id, value
    FROM (
        SELECT
            t.tuple_id, e.{{ s.column }} AS value,
            row_number() OVER (PARTITION BY t.tuple_id
                ORDER BY sum(e.records) DESC, any_value(o.size) DESC NULLS LAST, e.{{ s.column }} ASC) AS rank
        FROM source_tuples AS e
        JOIN tuples AS t
            ON {% for c in attributes %}{% if not loop.first %}
                AND {% endif %}t.{{ c.column }} = e.{{ c.column }}{% endfor %}

        LEFT JOIN {{ 'values'|of(s) }} AS o ON o.value = e.{{ s.column }}
        WHERE e.{{ s.column }} IS NOT NULL
        GROUP BY t.tuple_id, e.{{ s.column }}
    )
    WHERE rank = 1
),
-- One row per set of classes: the number of people who may be in them with a value, and who are guessed right.
{{ 'outcomes'|of(s) }} AS MATERIALIZED (
    SELECT
        f.place, list(DISTINCT e.identity) FILTER (WHERE e.identity IS NOT NULL) AS identities,
        sum(e.records) FILTER (WHERE e.{{ s.column }} IS NOT NULL) AS people,
        coalesce(sum(e.records) FILTER (WHERE e.{{ s.column }} = g.value), 0) AS hits,
        coalesce(sum(e.records) FILTER (WHERE e.{{ s.column }} = m.value), 0) AS common,
        coalesce(sum(e.records) FILTER (WHERE e.{{ s.column }} = x.value), 0) AS exact
    FROM people AS e
    JOIN tuple_class_sets AS f USING (tuple_id)
    JOIN {{ 'majority values'|of(s) }} AS g USING (place)
    LEFT JOIN {{ 'most frequent value'|of(s) }} AS m ON true
    LEFT JOIN {{ 'exact values'|of(s) }} AS x USING (tuple_id)
    GROUP BY f.place
),
{% endfor %}
-- One row per guess of the result.
guesses AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, CASE WHEN len(c.fits) = 1 THEN c.fits[1] END AS class_id,
        c.records, g.value AS guess, g.share AS confidence, g.baseline_confidence,
        t.hits::DOUBLE / t.people AS actual_accuracy, t.people AS n_tried, coalesce(t.identities, []) AS identities,
        CASE WHEN len(c.fits) > 1 THEN 'who fit ' || len(c.fits) || ' classes' END AS note
    FROM {{ 'majority values'|of(s) }} AS g
    JOIN class_sets AS c USING (place)
    JOIN {{ 'outcomes'|of(s) }} AS t USING (place)
    WHERE g.value IS NOT NULL AND round(g.share, 9) >= {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row per metric of the set_size attack.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        v.place + 2 * {{ s.i }} AS place, v.name, {{ s.label }} AS attribute, v.value, v.majority_baseline,
        v.raw_baseline, v.description
    FROM (
        SELECT
            sum(people)::DOUBLE AS n_guessed, sum(hits)::DOUBLE / n_guessed AS accuracy,
            sum(common)::DOUBLE / n_guessed AS majority_baseline, sum(exact)::DOUBLE / n_guessed AS raw_baseline
        FROM {{ 'outcomes'|of(s) }}
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'accuracy', accuracy, majority_baseline, raw_baseline,
            'Share of the people whose value is guessed right: by the release, by the most frequent value, '
            || 'by the raw data.'),
        (2, 'asked', coalesce(n_guessed, 0), coalesce(n_guessed, 0), coalesce(n_guessed, 0),
            'People whose value was guessed.')
    ) AS v (place, name, value, majority_baseline, raw_baseline, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
