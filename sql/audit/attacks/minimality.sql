{#- Minimality, bounded (Wong et al. 2007): whoever knows everybody's quasi-identifiers and that the algorithm cuts a class
    as long as k and the model allow it, knows of every cut that k alone would allow that some side of it breaks the model.
    One cut is looked at at a time, as strict Mondrian makes it: numbers at the lower median, categories by the children of
    the published node, missing values from the others; and only where one sensitive value alone can be what breaks it. -#}
{% for s in sensitive %}{% if loop.first %}
-- A row a combination of quasi-identifiers that fits one class alone.
alone AS MATERIALIZED (SELECT tid, any_value(class_id) AS class_id FROM pairs GROUP BY tid HAVING count(*) = 1),
-- A row a class. Classes of which the quasi-identifiers tell exactly who is in them.
decidable_classes AS MATERIALIZED (
    SELECT k.class_id
    FROM classes AS k
    JOIN pairs AS p USING (class_id)
    JOIN people AS e USING (tid)
    LEFT JOIN alone AS a USING (tid)
    GROUP BY k.class_id
    HAVING sum(e.records) = any_value(k.records) AND bool_and(a.class_id IS NOT NULL)
),
-- A row a decidable class and a combination of raw values in it.
inside_of AS MATERIALIZED (
    SELECT p.class_id, e.*
    FROM decidable_classes JOIN pairs AS p USING (class_id) JOIN people AS e USING (tid)
),
{% for c in attributes %}
{% if c.rows %}
-- A row a published node and a child of it.
{{ 'child'|of(c) }} AS MATERIALIZED (
    SELECT g.name AS published, x.label, b.low, b.high
    FROM (SELECT unnest([label, array_to_string(labels[2:], ' > ')]) AS name, node FROM {{ 'node'|of(c) }} WHERE NOT is_leaf) AS g
    JOIN {{ 'node'|of(c) }} AS x ON x.parent = g.node
    JOIN {{ 'below'|of(c) }} AS b ON b.node = x.node
    WHERE g.name IN (SELECT p{{ c.i }} FROM told_cells)
    QUALIFY dense_rank() OVER (PARTITION BY g.name ORDER BY g.node ASC) = 1
),
{% endif %}
-- A row a class, a side of a cut of it by this column, and a combination on that side.
{{ 'side'|of(c) }} AS MATERIALIZED (
    SELECT class_id, tid, side, label, sum(records)::BIGINT AS records
    FROM (
        SELECT DISTINCT e.class_id, e.tid, e.v{{ c.i }}, sum(e.records) OVER (PARTITION BY e.class_id, e.tid) AS records,
            CASE
                WHEN e.v{{ c.i }} = '-inf'::DOUBLE THEN -1
                WHEN m.nulls THEN 0
                {% if c.is_number %}
                WHEN e.v{{ c.i }} <= m.middle THEN 1 ELSE 2
                {% elif c.rows %}
                ELSE coalesce(g.low, -2)
                {% else %}
                ELSE e.v{{ c.i }}
                {% endif %}
            END AS side,
            CASE
                WHEN e.v{{ c.i }} = '-inf'::DOUBLE THEN 'missing'
                WHEN m.nulls THEN 'not missing'
                {% if c.is_number %}
                WHEN e.v{{ c.i }} <= m.middle THEN 'up to the median' ELSE 'above the median'
                {% elif c.rows %}
                ELSE g.label
                {% else %}
                ELSE l.value
                {% endif %}
            END AS label
        FROM inside_of AS e
        JOIN classes AS k ON k.class_id = e.class_id
        JOIN (
            SELECT class_id, bool_or(v = '-inf'::DOUBLE) AND NOT bool_and(v = '-inf'::DOUBLE) AS nulls, min(v) FILTER (WHERE place > (records - 1) // 2) AS middle
            FROM (
                SELECT class_id, v{{ c.i }} AS v, sum(records) OVER (PARTITION BY class_id ORDER BY v{{ c.i }} ASC) AS place, sum(records) OVER (PARTITION BY class_id) AS records
                FROM inside_of
            )
            GROUP BY class_id
        ) AS m ON m.class_id = e.class_id
        {% if c.rows %}
        LEFT JOIN {{ 'child'|of(c) }} AS g ON g.published = k.q{{ c.i }} AND e.v{{ c.i }} BETWEEN g.low AND g.high
        {% elif not c.is_number %}
        LEFT JOIN {{ 'leaf'|of(c) }} AS l ON l.place = e.v{{ c.i }}
        {% endif %}
    )
    GROUP BY ALL
),
{% endfor %}
-- A row a cut of a class and a side of it: its size.
sides AS MATERIALIZED (
    {% for c in attributes %}
    SELECT {{ c.i }} AS cut, {{ c.label }} AS attribute, class_id, side, any_value(label) AS label, sum(records)::BIGINT AS size, list(tid) AS tids
    FROM {{ 'side'|of(c) }}
    GROUP BY class_id, side
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- A row a cut of a class. Cuts that k alone would have allowed.
cuts AS MATERIALIZED (
    SELECT
        row_number() OVER (ORDER BY cut ASC NULLS LAST, class_id ASC) AS id, cut, class_id, list(size ORDER BY side ASC) AS sizes, list(side ORDER BY side ASC) AS sides,
        list_transform(sizes, lambda n: floor({{ alpha }} * n + 1e-9)::BIGINT) AS limits
    FROM sides
    GROUP BY cut, class_id
    HAVING count(*) > 1 AND min(size) >= {% if k %}{{ k }}{% else %}(SELECT min(records) FROM classes){% endif %}
),
{% endif %}
-- A row a cut: What can break the model: a value that more records have than a side may.
{{ 'breaking'|of(s) }} AS MATERIALIZED (
    SELECT c.id, count(h.value) AS values, any_value(h.value) AS value, any_value(h.size) AS size
    FROM cuts AS c
    LEFT JOIN {{ 'held'|of(s) }} AS h ON h.class_id = c.class_id AND h.value IS NOT NULL AND h.size > list_min(c.limits)
    GROUP BY c.id
),
-- One row: what the attack computes.
{{ 'answer'|of(s) }} AS MATERIALIZED (
    SELECT dbanon_attack({{ request }}, {
        'cuts': (
            SELECT list({'id': c.id, 'sizes': c.sizes, 'limits': c.limits, 'held': b.size} ORDER BY c.id ASC)
            FROM {{ 'breaking'|of(s) }} AS b JOIN cuts AS c USING (id)
            WHERE b.values = 1 AND (SELECT message FROM misfit) IS NULL
        )
    }) AS answer
),
-- A row a cut and a side: how confident the guess is.
{{ 'told'|of(s) }} AS MATERIALIZED (
    SELECT t.id, t.place, t.confidence
    FROM (SELECT unnest((answer).rows, max_depth := 2) FROM {{ 'answer'|of(s) }}) AS t
),
{% endfor %}
-- A row a guess that is shown.
found AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, c.class_id, g.size AS records, b.value AS guess, t.confidence,
        b.size::DOUBLE / k.records AS baseline_confidence, w.hits / nullif(w.people, 0) AS actual_accuracy, w.people AS tried, coalesce(w.who, []) AS who,
        g.attribute || ' ' || g.label || ': k would have allowed to cut there' AS note
    FROM {{ 'told'|of(s) }} AS t
    JOIN cuts AS c USING (id)
    JOIN {{ 'breaking'|of(s) }} AS b USING (id)
    JOIN classes AS k ON k.class_id = c.class_id
    JOIN sides AS g ON g.cut = c.cut AND g.class_id = c.class_id AND g.side = c.sides[t.place]
    JOIN LATERAL (
        SELECT
            sum(e.records)::BIGINT AS people, {% if s.is_known %}coalesce(sum(e.records) FILTER (WHERE e.s{{ s.i }} = b.value), 0){% else %}NULL::BIGINT{% endif %} AS hits,
            list(DISTINCT e.who) FILTER (WHERE e.who IS NOT NULL) AS who
        FROM people AS e
        JOIN (SELECT unnest(g.tids) AS tid) AS x USING (tid)
    ) AS w ON true
    WHERE round(t.confidence, 9) {% if above %}>{% else %}>={% endif %} {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row: the error of the computation, or NULL.
failed AS MATERIALIZED (
    SELECT coalesce({% for s in sensitive %}(SELECT (answer).error FROM {{ 'answer'|of(s) }}), {% endfor %}NULL) AS message
),
-- A row a number that sums the attack up.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT v.place + 4 * {{ s.i }} AS place, v.name, {{ s.label }} AS attribute, v.value, NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, v.description
    FROM (
        SELECT
            (SELECT count(*) FROM decidable_classes)::DOUBLE AS n_decidable, count(*) FILTER (WHERE values = 1)::DOUBLE AS judged,
            count(*) FILTER (WHERE values > 1)::DOUBLE AS n_undecidable, count(*) FILTER (WHERE values = 0)::DOUBLE AS n_contradictions
        FROM {{ 'breaking'|of(s) }}
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'n_decidable', n_decidable, 'Classes of which quasi-identifiers tell exactly who is in them; the others are left out.'),
        (2, 'judged', judged, 'Cuts of these that k allows and one sensitive value alone can forbid.'),
        (3, 'n_undecidable', n_undecidable, 'Cuts that several values can forbid: nothing is inferred from them.'),
        (4, 'n_contradictions', n_contradictions, 'Cuts that nothing forbids: the algorithm is not as it is assumed to be.')
    ) AS v (place, name, value, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
