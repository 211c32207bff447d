{#- Reconstruction (Majeed et al. 2024, Attack II): a guess of a record's quasi-identifiers, any value of what is
    published being equally likely, and of its sensitive value, as frequent as in its class. -#}
{% for c in attributes %}
{# How many values of the column's domain (leaves of its hierarchy, else values of the source) a class may stand for. #}
{% if c.is_number %}
-- A row an end of a class: How many values of the source lie before a lower end (-1), and up to an upper one (1).
{{ 'count'|of(c) }} AS MATERIALIZED (
    SELECT DISTINCT edge, kind, passed
    FROM (
        SELECT edge, kind, count(*) FILTER (WHERE kind = 0) OVER (ORDER BY edge ASC, kind ASC) AS passed
        FROM (
            SELECT DISTINCT v{{ c.i }} AS edge, 0 AS kind FROM true_cells WHERE v{{ c.i }} IS NOT NULL
            UNION ALL SELECT DISTINCT low{{ c.i }}, -1 FROM class_ends
            UNION ALL SELECT DISTINCT high{{ c.i }}, 1 FROM class_ends
        )
    )
    WHERE kind <> 0
),
{% endif %}
-- A row a published value: how many values of the source it stands for.
{{ 'span'|of(c) }} AS MATERIALIZED (
    {% if c.is_number %}
    SELECT k.low{{ c.i }}, k.high{{ c.i }}, greatest(b.passed - a.passed, 1)::DOUBLE AS span
    FROM (SELECT DISTINCT low{{ c.i }}, high{{ c.i }} FROM class_ends) AS k
    JOIN {{ 'count'|of(c) }} AS a ON a.edge = k.low{{ c.i }} AND a.kind = -1
    JOIN {{ 'count'|of(c) }} AS b ON b.edge = k.high{{ c.i }} AND b.kind = 1
    {% else %}
    SELECT k.low{{ c.i }}, k.high{{ c.i }}, CASE WHEN k.high{{ c.i }} = '-inf'::DOUBLE THEN 1 ELSE least(k.high{{ c.i }}, w.high) - greatest(k.low{{ c.i }}, w.low) + 1 END AS span
    FROM (SELECT DISTINCT low{{ c.i }}, high{{ c.i }} FROM class_ends) AS k
    CROSS JOIN {{ 'whole'|of(c) }} AS w
    {% endif %}
),
{% endfor %}
-- A row a class: the chance to guess the quasi-identifiers of a record.
chance AS MATERIALIZED (
    SELECT k.class_id, 1.0::DOUBLE{% for c in attributes %} / s{{ c.i }}.span{% endfor %} AS chance, 1.0::DOUBLE{% for c in attributes %} * s{{ c.i }}.span{% endfor %} AS tuples
    FROM class_ends AS k
    {% for c in attributes %}
    JOIN {{ 'span'|of(c) }} AS s{{ c.i }} ON s{{ c.i }}.low{{ c.i }} = k.low{{ c.i }} AND s{{ c.i }}.high{{ c.i }} = k.high{{ c.i }}
    {% endfor %}
),
-- A row a combination of quasi-identifiers that fits one class alone.
alone AS MATERIALIZED (SELECT tid, any_value(class_id) AS class_id FROM pairs GROUP BY tid HAVING count(*) = 1),
{% for s in sensitive %}
-- A row a class: the chance to guess a whole record.
{{ 'success'|of(s) }} AS MATERIALIZED (
    SELECT h.class_id, any_value(k.records) AS records, any_value(c.tuples) AS tuples, any_value(c.chance) * sum((h.size::DOUBLE / k.size) ^ 2) AS confidence
    FROM {{ 'held'|of(s) }} AS h
    JOIN classes AS k USING (class_id)
    JOIN chance AS c USING (class_id)
    GROUP BY h.class_id
),
-- A row a class: the people it is right about.
{{ 'truth'|of(s) }} AS MATERIALIZED (
    SELECT
        a.class_id, sum(e.records)::BIGINT AS people, list(DISTINCT e.who) FILTER (WHERE e.who IS NOT NULL) AS who,
        any_value(c.chance) * sum(e.records * coalesce(h.size, 0)::DOUBLE / k.size) / sum(e.records) AS actual_accuracy
    FROM alone AS a
    JOIN people AS e USING (tid)
    JOIN classes AS k ON k.class_id = a.class_id
    JOIN chance AS c ON c.class_id = a.class_id
    LEFT JOIN {{ 'held'|of(s) }} AS h ON h.class_id = a.class_id AND h.value IS NOT DISTINCT FROM e.s{{ s.i }}
    GROUP BY a.class_id
),
-- One row: Guessing the most frequent record; and the attack on the raw data, whose quasi-identifiers are known.
{{ 'floor'|of(s) }} AS MATERIALIZED (
    SELECT max(records)::DOUBLE / sum(records) AS majority_baseline, sum(records * records::DOUBLE / whole) / sum(records) AS raw_baseline
    FROM (
        SELECT *, sum(records) OVER (PARTITION BY tid) AS whole
        FROM (SELECT tid, s{{ s.i }}, sum(records)::BIGINT AS records FROM people GROUP BY ALL)
    )
),
{% endfor %}
-- A row a guess that is shown.
found AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, g.class_id, g.records::BIGINT AS records, NULL::VARCHAR AS guess, g.confidence,
        (SELECT majority_baseline FROM {{ 'floor'|of(s) }}) AS baseline_confidence, t.actual_accuracy, t.people AS tried, coalesce(t.who, []) AS who,
        'one of ' || g.tuples::BIGINT || CASE WHEN g.tuples = 1 THEN ' combination' ELSE ' combinations' END || ' of quasi-identifiers' AS note
    FROM {{ 'success'|of(s) }} AS g
    LEFT JOIN {{ 'truth'|of(s) }} AS t USING (class_id)
    WHERE round(g.confidence, 9) >= {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS place, 'success' AS name, {{ s.label }} AS attribute, sum(g.records * g.confidence) / sum(g.records) AS value,
        any_value(f.majority_baseline) AS majority_baseline, any_value(f.raw_baseline) AS raw_baseline,
        'Expected share of all records whose quasi-identifiers and sensitive value are guessed exactly.' AS description
    FROM {{ 'success'|of(s) }} AS g CROSS JOIN {{ 'floor'|of(s) }} AS f
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
