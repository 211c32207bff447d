{#- t-closeness: the earth mover's distance of a class from the whole table (Li et al. 2007). A sensitive
    NULL is a category of its own. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{% macro measure(name, of, settings) %}
{% if name == 'equal' %}{{ equal(of) }}
{% elif name == 'ordered' %}{{ ordered(of, of.places) }}
{% elif name == 'hierarchical' %}{{ distance(of, of.places) }}
{% endif %}
{% endmacro %}
{#- The places of values: their ranks (value, place), or the sets of values that they are in (value, cell, weight). -#}
{% macro places(name, overall, rows, leaves) %}
{% if name == 'hierarchical' %}{{ sets(overall, rows) }}
{% elif leaves %}
SELECT o.value, row_number() OVER (ORDER BY l.place ASC NULLS LAST) AS place
FROM {{ overall }} AS o
LEFT JOIN {{ leaves }} AS l ON l.label = ({{ form.label_of(sql('o.value')) }}) COLLATE POSIX
{% else %}
SELECT value, row_number() OVER (ORDER BY value ASC NULLS LAST) AS place FROM {{ overall }}
{% endif %}
{% endmacro %}
{#- The weighted sum, over sets of values, of how far the shares of the set are apart. cells (value, cell, weight)
    lists the sets a value is in: itself (equal distance), or its ancestors (hierarchical); the cell of NULL may be
    NULL.
    A cell that a class does not touch is counted with the table's share. -#}
{% macro distance(of, cells) %}
SELECT
    b.class_id,
    coalesce(
        (SELECT sum(share * weight) FROM ({{ cell_shares(of.overall, cells) }}))
        + sum(h.weight * (abs(h.share - h.table_share) - h.table_share)), 0.0
    ) AS value
FROM {{ of.body }} AS b
LEFT JOIN (
    SELECT p.class_id, w.weight, p.share, w.share AS table_share
    FROM (
        SELECT s.class_id, c.cell, sum(s.share) AS share
        FROM (SELECT *, size::DOUBLE / sum(size) OVER (PARTITION BY class_id) AS share FROM {{ of.held }}) AS s
        JOIN {{ cells }} AS c ON c.value IS NOT DISTINCT FROM s.value
        GROUP BY s.class_id, c.cell
    ) AS p
    JOIN ({{ cell_shares(of.overall, cells) }}) AS w ON w.cell IS NOT DISTINCT FROM p.cell
) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{% macro cell_shares(overall, cells) -%}
SELECT c.cell, c.weight, sum(o.share) AS share
FROM (SELECT *, size::DOUBLE / sum(size) OVER () AS share FROM {{ overall }}) AS o
JOIN {{ cells }} AS c ON c.value IS NOT DISTINCT FROM o.value
GROUP BY c.cell, c.weight
{%- endmacro %}

{#- Each value is a set of its own. -#}
{% macro equal(of) %}
-- One row per sensitive value, which is a set of its own.
WITH value_cells AS MATERIALIZED (
    SELECT value, row_number() OVER () AS cell, 0.5::DOUBLE AS weight FROM {{ of.overall }}
)
{{ distance(of, sql('value_cells')) }}
{% endmacro %}
{#- The sets of hierarchical distance: each node with the values below it, weighted by half the height from the node to
    its parent over the height of the tree. rows (node, parent, label) is the hierarchy. NULL is a leaf directly below
    the root, and so is each value that the hierarchy does not have: it is as far as possible from all others. -#}
{% macro sets(overall, rows) %}
-- One row per leaf of the hierarchy.
WITH RECURSIVE leaves AS (
    SELECT node, parent, label FROM {{ rows }} AS r
    WHERE NOT EXISTS (FROM {{ rows }} AS below WHERE below.parent = r.node)
),
-- One row per sensitive value and node above it. Hierarchies that are no trees are refused elsewhere, but perhaps after
-- this runs, so a cycle must end.
value_ancestors AS (
    SELECT o.value, l.node, l.parent, 0 AS steps
    FROM {{ overall }} AS o
    JOIN leaves AS l ON l.label = ({{ form.label_of(sql('o.value')) }}) COLLATE POSIX
    UNION ALL
    SELECT c.value, r.node, r.parent, c.steps + 1
    FROM value_ancestors AS c
    JOIN {{ rows }} AS r ON r.node = c.parent
    WHERE c.steps < (SELECT count(*) FROM {{ rows }})
),
-- One row per node and number of levels from a leaf up to it.
leaf_heights AS (
    SELECT node, parent, 0 AS height FROM leaves
    UNION
    SELECT r.node, r.parent, c.height + 1
    FROM leaf_heights AS c
    JOIN {{ rows }} AS r ON r.node = c.parent
    WHERE c.height < (SELECT count(*) FROM {{ rows }})
),
-- One row per node: its height.
node_heights AS MATERIALIZED (SELECT node, max(height) AS height FROM leaf_heights GROUP BY node)
SELECT
    v.value, v.node AS cell,
    (coalesce(above.height, top.height) - below.height) / (2.0::DOUBLE * top.height) AS weight
FROM value_ancestors AS v
JOIN node_heights AS below ON below.node = v.node
LEFT JOIN node_heights AS above ON above.node = v.parent
CROSS JOIN (SELECT greatest(max(height), 1) AS height FROM node_heights) AS top
UNION ALL
SELECT value, CASE WHEN value IS NOT NULL THEN -row_number() OVER (ORDER BY value ASC NULLS LAST) END, 0.5::DOUBLE
FROM {{ overall }} AS o
WHERE NOT EXISTS (FROM value_ancestors AS a WHERE a.value = o.value)
{% endmacro %}
{#- Ordered distance: the mean, over the ranks but the last, of how far the cumulated shares are
    apart. ranks (value, place) numbers the values of the table from 1. Between two values of a class its own cumulated
    share is constant, so every interval of places is a few differences of prefix sums: up to `crossing` the table's
    cumulated share is not above the class's, after it it is. -#}
{% macro ordered(of, ranks) %}
-- One row per rank: the share of the table up to it, and the sum of these shares.
WITH cumulated_shares AS MATERIALIZED (
    SELECT place, share, sum(share) OVER (ORDER BY place ASC) AS total
    FROM (
        SELECT 0 AS place, 0.0::DOUBLE AS share
        UNION ALL
        SELECT r.place, (sum(o.size) OVER (ORDER BY r.place ASC))::DOUBLE / sum(o.size) OVER ()
        FROM {{ of.overall }} AS o JOIN {{ ranks }} AS r ON r.value IS NOT DISTINCT FROM o.value
    )
),
-- One row per interval of ranks between two values of a class: the class's share before it, and the rank up to which
-- the table's share is not above that (crossing).
rank_intervals AS MATERIALIZED (
    SELECT s.*, least(q.place, s.last) AS crossing
    FROM (
        SELECT
            h.class_id, r.place - 1 AS before,
            (sum(h.size) OVER below)::DOUBLE / sum(h.size) OVER (PARTITION BY h.class_id) AS share,
            lead(r.place - 1, 1, (SELECT max(place) FROM {{ ranks }})) OVER below AS last,
            row_number() OVER below = 1 AS is_first
        FROM {{ of.held }} AS h
        JOIN {{ ranks }} AS r ON r.value IS NOT DISTINCT FROM h.value
        WINDOW below AS (PARTITION BY h.class_id ORDER BY r.place ASC)
    ) AS s
    ASOF JOIN cumulated_shares AS q ON s.share >= q.share
)
SELECT
    b.class_id,
    coalesce(sum(e.distance), 0.0) / (SELECT greatest(max(place) - 1, 1) FROM {{ ranks }}) AS value
FROM {{ of.body }} AS b
LEFT JOIN (
    SELECT
        s.class_id,
        CASE WHEN s.is_first THEN low.total ELSE 0.0 END
        + s.share * (2 * greatest(s.crossing, s.before) - s.before - s.last)
        - (2 * middle.total - low.total - high.total) AS distance
    FROM rank_intervals AS s
    JOIN cumulated_shares AS low ON low.place = s.before
    JOIN cumulated_shares AS middle ON middle.place = greatest(s.crossing, s.before)
    JOIN cumulated_shares AS high ON high.place = s.last
) AS e ON e.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
