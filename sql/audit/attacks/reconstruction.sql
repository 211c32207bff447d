{#- Reconstruction (Majeed et al. 2024, Attack II): a guess of a record's quasi-identifiers, any value of what is
    published being equally likely, and of its sensitive value, as frequent as in its class. -#}
{% for c in attributes %}
{# The number of values of the domain (leaves of the hierarchy, otherwise values of the source) that a class may
   represent. #}
{% if c.is_number %}
-- One row per end of a class: the number of values of the source before a lower end (-1) or up to an upper end (1).
{{ 'passed values'|of(c) }} AS MATERIALIZED (
    SELECT DISTINCT edge, kind, passed
    FROM (
        SELECT edge, kind, count(*) FILTER (WHERE kind = 0) OVER (ORDER BY edge ASC, kind ASC) AS passed
        FROM (
            SELECT DISTINCT {{ c.column }} AS edge, 0 AS kind FROM source_cells WHERE {{ c.column }} IS NOT NULL
            UNION ALL SELECT DISTINCT {{ 'low'|of(c) }}, -1 FROM class_ends
            UNION ALL SELECT DISTINCT {{ 'high'|of(c) }}, 1 FROM class_ends
        )
    )
    WHERE kind <> 0
),
{% endif %}
-- One row per published value: the number of values that it represents.
{{ 'spans'|of(c) }} AS MATERIALIZED (
    {% if c.is_number %}
    SELECT k.{{ 'low'|of(c) }}, k.{{ 'high'|of(c) }}, greatest(b.passed - a.passed, 1)::DOUBLE AS span
    FROM (SELECT DISTINCT {{ 'low'|of(c) }}, {{ 'high'|of(c) }} FROM class_ends) AS k
    JOIN {{ 'passed values'|of(c) }} AS a ON a.edge = k.{{ 'low'|of(c) }} AND a.kind = -1
    JOIN {{ 'passed values'|of(c) }} AS b ON b.edge = k.{{ 'high'|of(c) }} AND b.kind = 1
    {% else %}
    SELECT
        k.{{ 'low'|of(c) }}, k.{{ 'high'|of(c) }},
        CASE WHEN k.{{ 'high'|of(c) }} = '-inf'::DOUBLE THEN 1
            ELSE least(k.{{ 'high'|of(c) }}, w.high) - greatest(k.{{ 'low'|of(c) }}, w.low) + 1 END AS span
    FROM (SELECT DISTINCT {{ 'low'|of(c) }}, {{ 'high'|of(c) }} FROM class_ends) AS k
    JOIN column_ranges AS w ON w.attribute = {{ c.key }}
    {% endif %}
),
{% endfor %}
-- One row per class: the chance to guess the quasi-identifiers of a record.
chances AS MATERIALIZED (
    SELECT
        k.class_id, 1.0::DOUBLE{% for c in attributes %} / {{ 'span'|of(c) }}.span{% endfor %} AS chance,
        1.0::DOUBLE{% for c in attributes %} * {{ 'span'|of(c) }}.span{% endfor %} AS tuples
    FROM class_ends AS k
    {% for c in attributes %}
    JOIN {{ 'spans'|of(c) }} AS {{ 'span'|of(c) }}
        ON {{ 'span'|of(c) }}.{{ 'low'|of(c) }} = k.{{ 'low'|of(c) }}
            AND {{ 'span'|of(c) }}.{{ 'high'|of(c) }} = k.{{ 'high'|of(c) }}
    {% endfor %}
),
-- One row per combination of quasi-identifiers that fits one class alone.
single_candidates AS MATERIALIZED (
    SELECT tuple_id, any_value(class_id) AS class_id FROM candidate_classes GROUP BY tuple_id HAVING count(*) = 1
),
{% for s in sensitive %}
-- One row per class: the chance to guess a whole record.
{{ 'success chances'|of(s) }} AS MATERIALIZED (
    SELECT
        h.class_id, any_value(k.records) AS records, any_value(c.tuples) AS tuples,
        any_value(c.chance) * sum((h.size::DOUBLE / k.size) ^ 2) AS confidence
    FROM {{ 'class values'|of(s) }} AS h
    JOIN classes AS k USING (class_id)
    JOIN chances AS c USING (class_id)
    GROUP BY h.class_id
),
-- One row per class with people who fit no other one: the share that is guessed right.
{{ 'outcomes'|of(s) }} AS MATERIALIZED (
    SELECT
        a.class_id, sum(e.records)::BIGINT AS people,
        list(DISTINCT e.identity) FILTER (WHERE e.identity IS NOT NULL) AS identities,
        any_value(c.chance) * sum(e.records * coalesce(h.size, 0)::DOUBLE / k.size) / sum(e.records) AS actual_accuracy
    FROM single_candidates AS a
    JOIN people AS e USING (tuple_id)
    JOIN classes AS k ON k.class_id = a.class_id
    JOIN chances AS c ON c.class_id = a.class_id
    LEFT
    JOIN {{ 'class values'|of(s) }} AS h ON h.class_id = a.class_id AND h.value IS NOT DISTINCT FROM e.{{ s.column }}
    GROUP BY a.class_id
),
-- One row: the success of guessing the most frequent record, and of the attack on the raw data, whose quasi-identifiers
-- are known.
{{ 'baselines'|of(s) }} AS MATERIALIZED (
    SELECT
        max(records)::DOUBLE / sum(records) AS majority_baseline,
        sum(records * records::DOUBLE / total_records) / sum(records) AS raw_baseline
    FROM (
        SELECT *, sum(records) OVER (PARTITION BY tuple_id) AS total_records
        FROM (SELECT tuple_id, {{ s.column }}, sum(records)::BIGINT AS records FROM people GROUP BY ALL)
    )
),
{% endfor %}
-- One row per guess of the result.
guesses AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, g.class_id, g.records::BIGINT AS records,
        NULL::VARCHAR AS guess, g.confidence,
        (SELECT majority_baseline FROM {{ 'baselines'|of(s) }}) AS baseline_confidence, t.actual_accuracy,
            t.people AS n_tried, coalesce(t.identities, []) AS identities,
        'one of ' || g.tuples::BIGINT || CASE WHEN g.tuples = 1 THEN ' combination'
            ELSE ' combinations' END || ' of quasi-identifiers' AS note
    FROM {{ 'success chances'|of(s) }} AS g
    LEFT JOIN {{ 'outcomes'|of(s) }} AS t USING (class_id)
    WHERE round(g.confidence, 9) >= {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row per metric of the total_records attack.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS place, 'success' AS name, {{ s.label }} AS attribute,
        sum(g.records * g.confidence) / sum(g.records) AS value,
        any_value(f.majority_baseline) AS majority_baseline, any_value(f.raw_baseline) AS raw_baseline,
        'Expected share of all records whose quasi-identifiers and sensitive value are guessed exactly.' AS description
    FROM {{ 'success chances'|of(s) }} AS g CROSS JOIN {{ 'baselines'|of(s) }} AS f
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
