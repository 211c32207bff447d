{#- The parts that a class publishes of a column, "age: published parts", and whether no class of the column could have
    published less, "age: tightness": both ends of an interval are values of people, two children of a node are
    occupied. Values without a hierarchy have neither. -#}
{% macro tight(c) %}
{% if c.is_number %}
-- One row per class that publishes a bounded interval: its ends.
{{ 'published parts'|of(c) }} AS MATERIALIZED (
    SELECT
        k.class_id, k.records, e.{{ 'low'|of(c) }} AS low, e.{{ 'high'|of(c) }} AS high, k.{{ c.column }} AS published
    FROM class_ends AS e
    JOIN classes AS k USING (class_id)
    WHERE e.{{ 'low'|of(c) }} < e.{{ 'high'|of(c) }} AND e.{{ 'low'|of(c) }} > '-1e308'::DOUBLE
        AND e.{{ 'high'|of(c) }} < '1e308'::DOUBLE
),
-- One row: whether every published value is as narrow as it could be.
{{ 'tightness'|of(c) }} AS MATERIALIZED (
    SELECT coalesce(bool_and(has_low AND has_high), false) AS is_tight
    FROM (
        SELECT
            g.class_id, coalesce(bool_or(t.{{ c.column }} = g.low), false) AS has_low,
            coalesce(bool_or(t.{{ c.column }} = g.high), false) AS has_high
        FROM {{ 'published parts'|of(c) }} AS g
        LEFT JOIN candidate_classes AS p USING (class_id)
        LEFT JOIN tuples AS t USING (tuple_id)
        GROUP BY g.class_id
    )
),
{% elif c.has_hierarchy %}
-- One row per published node and child of it: the places below the child, and its share of those of the node.
{{ 'published parts'|of(c) }} AS MATERIALIZED (
    SELECT
        n.name AS published, child.label, child.low, child.high,
        (child.high - child.low + 1) / sum(child.high - child.low + 1) OVER (PARTITION BY n.name) AS share,
        count(*) OVER (PARTITION BY n.name) AS children
    FROM (
        SELECT unnest([label, array_to_string(labels[2:], ' > ')]) AS name, node
        FROM nodes
        WHERE attribute = {{ c.key }} AND NOT is_leaf
    ) AS n
    JOIN nodes AS child ON child.attribute = {{ c.key }} AND child.parent = n.node
    WHERE n.name IN (SELECT {{ c.column }} FROM classes)
    QUALIFY dense_rank() OVER (PARTITION BY n.name ORDER BY n.node ASC) = 1
),
-- One row: whether every published value is as narrow as it could be.
{{ 'tightness'|of(c) }} AS MATERIALIZED (
    SELECT coalesce(bool_and(occupied > 1), false) AS is_tight
    FROM (
        SELECT k.class_id, count(DISTINCT g.low) FILTER (WHERE t.{{ c.column }} BETWEEN g.low AND g.high) AS occupied
        FROM classes AS k
        JOIN {{ 'published parts'|of(c) }} AS g ON g.published = k.{{ c.column }}
        LEFT JOIN candidate_classes AS p USING (class_id)
        LEFT JOIN tuples AS t USING (tuple_id)
        GROUP BY k.class_id
    )
),
{% endif %}
{% endmacro %}
