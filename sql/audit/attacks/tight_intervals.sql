{#- What a class publishes of a column, part_i, and whether no class of the column could have published less, tight_i: both
    ends of an interval are somebody's, two children of a node are occupied. Of values without a hierarchy neither. -#}
{% macro tight(c) %}
{% if c.is_number %}
-- A row a published value and a part of it.
{{ 'part'|of(c) }} AS MATERIALIZED (
    SELECT k.class_id, k.records, e.low{{ c.i }} AS low, e.high{{ c.i }} AS high, k.q{{ c.i }} AS published
    FROM class_ends AS e
    JOIN classes AS k USING (class_id)
    WHERE e.low{{ c.i }} < e.high{{ c.i }} AND e.low{{ c.i }} > '-1e308'::DOUBLE AND e.high{{ c.i }} < '1e308'::DOUBLE
),
-- One row: whether every published value is as narrow as it could be.
{{ 'tight'|of(c) }} AS MATERIALIZED (
    SELECT coalesce(bool_and(has_low AND has_high), false) AS is_tight
    FROM (
        SELECT g.class_id, coalesce(bool_or(t.v{{ c.i }} = g.low), false) AS has_low, coalesce(bool_or(t.v{{ c.i }} = g.high), false) AS has_high
        FROM {{ 'part'|of(c) }} AS g
        LEFT JOIN pairs AS p USING (class_id)
        LEFT JOIN tuples AS t USING (tid)
        GROUP BY g.class_id
    )
),
{% elif c.rows %}
-- A row a published value and a part of it.
{{ 'part'|of(c) }} AS MATERIALIZED (
    SELECT g.name AS published, x.label, b.low, b.high, (b.high - b.low + 1) / sum(b.high - b.low + 1) OVER (PARTITION BY g.name) AS share, count(*) OVER (PARTITION BY g.name) AS children
    FROM (
        SELECT unnest([label, array_to_string(labels[2:], ' > ')]) AS name, node, count(*) OVER (PARTITION BY label) AS same
        FROM {{ 'node'|of(c) }} WHERE NOT is_leaf
    ) AS g
    JOIN {{ 'node'|of(c) }} AS x ON x.parent = g.node
    JOIN {{ 'below'|of(c) }} AS b ON b.node = x.node
    WHERE g.name IN (SELECT p{{ c.i }} FROM told_cells)
    QUALIFY dense_rank() OVER (PARTITION BY g.name ORDER BY g.node ASC) = 1
),
-- One row: whether every published value is as narrow as it could be.
{{ 'tight'|of(c) }} AS MATERIALIZED (
    SELECT coalesce(bool_and(occupied > 1), false) AS is_tight
    FROM (
        SELECT k.class_id, count(DISTINCT g.low) FILTER (WHERE t.v{{ c.i }} BETWEEN g.low AND g.high) AS occupied
        FROM classes AS k
        JOIN {{ 'part'|of(c) }} AS g ON g.published = k.q{{ c.i }}
        LEFT JOIN pairs AS p USING (class_id)
        LEFT JOIN tuples AS t USING (tid)
        GROUP BY k.class_id
    )
),
{% endif %}
{% endmacro %}
