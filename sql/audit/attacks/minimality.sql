{#- Minimality, bounded (Wong et al. 2007): an attacker who knows the quasi-identifiers of all people, and that the
    algorithm cuts a class as long as k and the model allow it, knows that each cut which k alone would allow has a
    side that breaks the model. Only one cut is considered at a time, as strict Mondrian makes it: numbers at the
    lower median, categories by the children of the published node, missing values from the others; and only where a
    single sensitive value can break the model. -#}
{% for s in sensitive %}{% if loop.first %}
-- One row per combination of quasi-identifiers that fits one class alone.
single_candidates AS MATERIALIZED (
    SELECT tuple_id, any_value(class_id) AS class_id FROM candidate_classes GROUP BY tuple_id HAVING count(*) = 1
),
-- One row per class whose people are determined by their quasi-identifiers.
decidable_classes AS MATERIALIZED (
    SELECT k.class_id
    FROM classes AS k
    JOIN candidate_classes AS p USING (class_id)
    JOIN people AS e USING (tuple_id)
    LEFT JOIN single_candidates AS a USING (tuple_id)
    GROUP BY k.class_id
    HAVING sum(e.records) = any_value(k.records) AND bool_and(a.class_id IS NOT NULL)
),
-- One row per decidable class and combination of raw values in it.
decidable_people AS MATERIALIZED (
    SELECT p.class_id, e.*
    FROM decidable_classes JOIN candidate_classes AS p USING (class_id) JOIN people AS e USING (tuple_id)
),
{% for c in attributes %}
{% if c.has_hierarchy %}
-- One row per published node and child of it: the places below the child.
{{ 'children'|of(c) }} AS MATERIALIZED (
    SELECT n.name AS published, child.label, child.low, child.high
    FROM (
        SELECT unnest([label, array_to_string(labels[2:], ' > ')]) AS name, node
        FROM nodes
        WHERE attribute = {{ c.key }} AND NOT is_leaf
    ) AS n
    JOIN nodes AS child ON child.attribute = {{ c.key }} AND child.parent = n.node
    WHERE n.name IN (SELECT {{ c.column }} FROM classes)
    QUALIFY dense_rank() OVER (PARTITION BY n.name ORDER BY n.node ASC) = 1
),
{% endif %}
-- One row per class, side of a cut by this column, and combination on that side.
{{ 'sides'|of(c) }} AS MATERIALIZED (
    SELECT class_id, tuple_id, side, label, sum(records)::BIGINT AS records
    FROM (
        SELECT DISTINCT e.class_id, e.tuple_id, e.{{ c.column }},
        sum(e.records) OVER (PARTITION BY e.class_id, e.tuple_id) AS records,
            CASE
                WHEN e.{{ c.column }} = '-inf'::DOUBLE THEN -1
                WHEN m.nulls THEN 0
                {% if c.is_number %}
                WHEN e.{{ c.column }} <= m.middle THEN 1 ELSE 2
                {% elif c.has_hierarchy %}
                ELSE coalesce(g.low, -2)
                {% else %}
                ELSE e.{{ c.column }}
                {% endif %}
            END AS side,
            CASE
                WHEN e.{{ c.column }} = '-inf'::DOUBLE THEN 'missing'
                WHEN m.nulls THEN 'not missing'
                {% if c.is_number %}
                WHEN e.{{ c.column }} <= m.middle THEN 'up to the median' ELSE 'above the median'
                {% elif c.has_hierarchy %}
                ELSE g.label
                {% else %}
                ELSE l.value
                {% endif %}
            END AS label
        FROM decidable_people AS e
        JOIN classes AS k ON k.class_id = e.class_id
        JOIN (
            SELECT
                class_id, bool_or(v = '-inf'::DOUBLE) AND NOT bool_and(v = '-inf'::DOUBLE) AS nulls,
                min(v) FILTER (WHERE place > (records - 1) // 2) AS middle
            FROM (
                SELECT
                    class_id, {{ c.column }} AS v,
                    sum(records) OVER (PARTITION BY class_id ORDER BY {{ c.column }} ASC) AS place,
                    sum(records) OVER (PARTITION BY class_id) AS records
                FROM decidable_people
            )
            GROUP BY class_id
        ) AS m ON m.class_id = e.class_id
        {% if c.has_hierarchy %}
        LEFT
        JOIN {{ 'children'|of(c) }} AS g ON g.published = k.{{ c.column }} AND e.{{ c.column }} BETWEEN g.low AND g.high
        {% elif not c.is_number %}
        LEFT JOIN leaves AS l ON l.attribute = {{ c.key }} AND l.place = e.{{ c.column }}
        {% endif %}
    )
    GROUP BY ALL
),
{% endfor %}
-- One row per cut of a class and side of it: its size.
sides AS MATERIALIZED (
    {% for c in attributes %}
    SELECT
        {{ c.i }} AS cut, {{ c.label }} AS attribute, class_id, side, any_value(label) AS label,
        sum(records)::BIGINT AS size, list(tuple_id) AS tuple_ids
    FROM {{ 'sides'|of(c) }}
    GROUP BY class_id, side
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row per cut of a class that k alone would have allowed.
cuts AS MATERIALIZED (
    SELECT
        row_number() OVER (ORDER BY cut ASC NULLS LAST, class_id ASC) AS id, cut, class_id,
        list(size ORDER BY side ASC) AS sizes, list(side ORDER BY side ASC) AS sides,
        list_transform(sizes, lambda n: floor({{ alpha }} * n + 1e-9)::BIGINT) AS limits
    FROM sides
    GROUP BY cut, class_id
    HAVING count(*) > 1 AND min(size) >= {% if k %}{{ k }}{% else %}(SELECT min(records) FROM classes){% endif %}
),
{% endif %}
-- One row per cut: the values that can break the model, because more records have them than a side may.
{{ 'breaking values'|of(s) }} AS MATERIALIZED (
    SELECT c.id, count(h.value) AS values, any_value(h.value) AS value, any_value(h.size) AS size
    FROM cuts AS c
    LEFT
    JOIN {{ 'class values'|of(s) }} AS h
        ON h.class_id = c.class_id AND h.value IS NOT NULL AND h.size > list_min(c.limits)
    GROUP BY c.id
),
-- One row: what the Python function of the attack returns.
{{ 'answers'|of(s) }} AS MATERIALIZED (
    SELECT dbanon_attack({{ request }}, {
        'cuts': (
            SELECT list({'id': c.id, 'sizes': c.sizes, 'limits': c.limits, 'held': b.size} ORDER BY c.id ASC)
            FROM {{ 'breaking values'|of(s) }} AS b JOIN cuts AS c USING (id)
            WHERE b.values = 1 AND (SELECT message FROM misfits) IS NULL
        )
    }) AS answers
),
-- One row per cut and side: the confidence of the guess.
{{ 'rows'|of(s) }} AS MATERIALIZED (
    SELECT t.id, t.place, t.confidence
    FROM (SELECT unnest((answers).rows, max_depth := 2) FROM {{ 'answers'|of(s) }}) AS t
),
{% endfor %}
-- One row per guess of the result.
guesses AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        {{ s.i }} AS number, {{ s.label }} AS attribute, c.class_id, g.size AS records, b.value AS guess, t.confidence,
        b.size::DOUBLE / k.records AS baseline_confidence, w.hits / nullif(w.people, 0) AS actual_accuracy,
        w.people AS n_tried, coalesce(w.identities, []) AS identities,
        g.attribute || ' ' || g.label || ': k would have allowed to cut there' AS note
    FROM {{ 'rows'|of(s) }} AS t
    JOIN cuts AS c USING (id)
    JOIN {{ 'breaking values'|of(s) }} AS b USING (id)
    JOIN classes AS k ON k.class_id = c.class_id
    JOIN sides AS g ON g.cut = c.cut AND g.class_id = c.class_id AND g.side = c.sides[t.place]
    JOIN LATERAL (
        SELECT
            sum(e.records)::BIGINT AS people,
            {% if s.is_known %}coalesce(sum(e.records) FILTER (WHERE e.{{ s.column }} = b.value),
                0){% else %}NULL::BIGINT{% endif %} AS hits,
            list(DISTINCT e.identity) FILTER (WHERE e.identity IS NOT NULL) AS identities
        FROM people AS e
        JOIN (SELECT unnest(g.tuple_ids) AS tuple_id) AS x USING (tuple_id)
    ) AS w ON true
    WHERE round(t.confidence, 9) {% if above %}>{% else %}>={% endif %} {{ threshold }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row: the error of the computation, or NULL.
computation_errors AS MATERIALIZED (
    SELECT
        coalesce({% for s in sensitive %}(SELECT (answers).error FROM {{ 'answers'|of(s) }}), {% endfor %}NULL)
            AS message
),
-- One row per metric of the whole attack.
totals AS MATERIALIZED (
    {% for s in sensitive %}
    SELECT
        v.place + 4 * {{ s.i }} AS place, v.name, {{ s.label }} AS attribute, v.value,
        NULL::DOUBLE AS majority_baseline, NULL::DOUBLE AS raw_baseline, v.description
    FROM (
        SELECT
            (SELECT count(*) FROM decidable_classes)::DOUBLE AS n_decidable,
                count(*) FILTER (WHERE values = 1)::DOUBLE AS n_judged,
            count(*) FILTER (WHERE values > 1)::DOUBLE AS n_undecidable,
            count(*) FILTER (WHERE values = 0)::DOUBLE AS n_contradictions
        FROM {{ 'breaking values'|of(s) }}
    )
    CROSS JOIN LATERAL (VALUES
        (1, 'n_decidable', n_decidable,
            'Classes whose members follow exactly from the quasi-identifiers; other classes are ignored.'),
        (2, 'judged', n_judged, 'Cuts of these that k allows and one sensitive value alone can forbid.'),
        (3, 'n_undecidable', n_undecidable, 'Cuts that several values can forbid: nothing is inferred from them.'),
        (4, 'n_contradictions', n_contradictions,
            'Cuts that nothing forbids, so the algorithm is not the assumed one.')
    ) AS v (place, name, value, description)
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
