{#- Privacy models as measures of classes. Each macro is a SELECT of (class_id, value), one row a class, over
    held (class_id, value, size): how many records (distinct persons) of a class have a sensitive value,
    body (class_id, size): how many records (distinct persons) a class has,
    overall (value, size): the same as held for the whole table.
    A sensitive NULL never counts towards diversity; it is a category of its own for the others. -#}

{#- Distinct l-diversity and p-sensitivity: how many values (Machanavajjhala et al. 2006; Truta and Vinay 2006). -#}
{% macro distinct_values(held, body) %}
SELECT b.class_id, count(h.value)::DOUBLE AS value
FROM {{ body }} AS b LEFT JOIN {{ held }} AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{#- Entropy l-diversity: exp of the entropy (Machanavajjhala et al. 2006). -#}
{% macro entropy(held, body) %}
SELECT b.class_id, coalesce(exp(ln(sum(h.size)) - sum(h.size * ln(h.size)) / sum(h.size)), 0.0) AS value
FROM {{ body }} AS b LEFT JOIN {{ held }} AS h ON h.class_id = b.class_id AND h.value IS NOT NULL
GROUP BY b.class_id
{% endmacro %}
{#- Recursive (c, l)-diversity (Machanavajjhala et al. 2006): r_1 / (r_l + .. + r_m), which must be below c; infinite
    where there are fewer than l values. -#}
{% macro recursive(held, body, l) %}
SELECT b.class_id, coalesce(max(h.ratio) FILTER (WHERE h.l = {{ l }}), 'inf'::DOUBLE) AS value
FROM {{ body }} AS b LEFT JOIN ({{ recursive_ratios(held) }}) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{#- The other way round: the greatest l that c allows; every smaller one is allowed then too. -#}
{% macro recursive_length(held, body, c) %}
SELECT b.class_id, coalesce(max(h.l) FILTER (WHERE h.ratio < {{ c }}), 0)::DOUBLE AS value
FROM {{ body }} AS b LEFT JOIN ({{ recursive_ratios(held) }}) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{% macro recursive_ratios(held) -%}
SELECT class_id, l, max(size) OVER (PARTITION BY class_id) / sum(size) OVER (PARTITION BY class_id ORDER BY l DESC) AS ratio
FROM (
    SELECT class_id, size, row_number() OVER (PARTITION BY class_id ORDER BY size DESC) AS l
    FROM {{ held }}
    WHERE value IS NOT NULL
)
{%- endmacro %}
{#- Alpha of (alpha, k)-anonymity: the greatest share of a value (Wong et al. 2006). -#}
{% macro greatest_share(held, body) %}
SELECT b.class_id, coalesce(max(h.size) / any_value(b.size), 0.0)::DOUBLE AS value
FROM {{ body }} AS b LEFT JOIN {{ held }} AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{#- Beta-likeness: the greatest relative gain of a value's share over the whole table; for the enhanced form infinite
    where it is above -ln of the share in the table (Cao and Karras 2012). -#}
{% macro greatest_gain(held, body, overall, enhanced) %}
SELECT b.class_id, coalesce(max(h.gain), 0.0) AS value
FROM {{ body }} AS b
LEFT JOIN (
    SELECT p.class_id, {% if enhanced %}CASE WHEN (p.share - q.share) / q.share > -ln(q.share) + 1e-9 THEN 'inf'::DOUBLE
        ELSE greatest((p.share - q.share) / q.share, 0.0) END{% else %}greatest((p.share - q.share) / q.share, 0.0){% endif %} AS gain
    FROM (SELECT *, size / sum(size) OVER (PARTITION BY class_id) AS share FROM {{ held }}) AS p
    JOIN (SELECT *, size / sum(size) OVER () AS share FROM {{ overall }}) AS q ON q.value IS NOT DISTINCT FROM p.value
) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{#- t-closeness: the earth mover's distance of a class from the whole table (Li, Li and Venkatasubramanian 2007), as
    the weighted sum, over sets of values, of how far the shares of the set lie apart. cells (value, cell, weight)
    lists the sets a value is in: itself (equal distance), all ranks from its own on (ordered), its ancestors
    (hierarchical); the cell of NULL may be NULL. A cell that a class does not touch is counted with the table's share. -#}
{% macro mover_distance(held, body, overall, cells) %}
SELECT
    b.class_id,
    coalesce(
        (SELECT sum(share * weight) FROM ({{ cell_shares(overall, cells) }}))
        + sum(h.weight * (abs(h.share - h.whole) - h.whole)), 0.0
    ) AS value
FROM {{ body }} AS b
LEFT JOIN (
    SELECT p.class_id, w.weight, p.share, w.share AS whole
    FROM (
        SELECT s.class_id, c.cell, sum(s.share) AS share
        FROM (SELECT *, size / sum(size) OVER (PARTITION BY class_id) AS share FROM {{ held }}) AS s
        JOIN {{ cells }} AS c ON c.value IS NOT DISTINCT FROM s.value
        GROUP BY s.class_id, c.cell
    ) AS p
    JOIN ({{ cell_shares(overall, cells) }}) AS w ON w.cell IS NOT DISTINCT FROM p.cell
) AS h ON h.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
{% macro cell_shares(overall, cells) -%}
SELECT c.cell, c.weight, sum(o.share) AS share
FROM (SELECT *, size / sum(size) OVER () AS share FROM {{ overall }}) AS o
JOIN {{ cells }} AS c ON c.value IS NOT DISTINCT FROM o.value
GROUP BY c.cell, c.weight
{%- endmacro %}
{#- The cells of equal distance. -#}
{% macro cells_equal(overall) %}
SELECT value, row_number() OVER () AS cell, 0.5::DOUBLE AS weight FROM {{ overall }}
{% endmacro %}
{#- The cells of hierarchical distance: each node with the values below it, weighted by half the height from the node to
    its parent over the height of the tree. rows (node, parent, label) is the hierarchy, in which
    every value is one leaf; NULL is a leaf right below the root. -#}
{% macro cells_hierarchical(overall, rows) %}
WITH RECURSIVE leaf AS (
    SELECT node, parent, label FROM {{ rows }} AS r
    WHERE NOT EXISTS (FROM {{ rows }} AS below WHERE below.parent = r.node)
),
{# What is no tree is refused elsewhere, but perhaps later than this runs: a circle must end. #}
line AS (
    SELECT o.value, l.node, l.parent, 0 AS steps
    FROM {{ overall }} AS o
    JOIN leaf AS l ON l.label = CAST(o.value AS VARCHAR) COLLATE POSIX
    UNION ALL
    SELECT c.value, r.node, r.parent, c.steps + 1
    FROM line AS c
    JOIN {{ rows }} AS r ON r.node = c.parent
    WHERE c.steps < (SELECT count(*) FROM {{ rows }})
),
rise AS (
    SELECT node, parent, 0 AS height FROM leaf
    UNION
    SELECT r.node, r.parent, c.height + 1
    FROM rise AS c
    JOIN {{ rows }} AS r ON r.node = c.parent
    WHERE c.height < (SELECT count(*) FROM {{ rows }})
),
node AS MATERIALIZED (SELECT node, max(height) AS height FROM rise GROUP BY node)
SELECT v.value, v.node AS cell, (coalesce(above.height, top.height) - own.height) / (2.0::DOUBLE * top.height) AS weight
FROM line AS v
JOIN node AS own ON own.node = v.node
LEFT JOIN node AS above ON above.node = v.parent
CROSS JOIN (SELECT greatest(max(height), 1) AS height FROM node) AS top
UNION ALL
SELECT value, NULL, 0.5::DOUBLE FROM {{ overall }} WHERE value IS NULL
{% endmacro %}
{#- t-closeness with ordered distance: the mean, over the ranks but the last, of how far the cumulated shares lie
    apart. ranks (value, place) numbers the values of the table from 1. Between two values of a class its own cumulated
    share stands still, so every stretch of places is a few differences of prefix sums: up to `passed` the table's
    cumulated share is not above the class's, after it it is. -#}
{% macro mover_distance_ordered(held, body, overall, ranks) %}
WITH cumulated AS MATERIALIZED (
    SELECT place, share, sum(share) OVER (ORDER BY place ASC) AS total
    FROM (
        SELECT 0 AS place, 0.0::DOUBLE AS share
        UNION ALL
        SELECT r.place, sum(o.size) OVER (ORDER BY r.place ASC) / sum(o.size) OVER ()
        FROM {{ overall }} AS o JOIN {{ ranks }} AS r ON r.value IS NOT DISTINCT FROM o.value
    )
),
stretch AS MATERIALIZED (
    SELECT s.*, least(q.place, s.last) AS passed
    FROM (
        SELECT
            h.class_id, r.place - 1 AS before,
            sum(h.size) OVER below / sum(h.size) OVER (PARTITION BY h.class_id) AS share,
            lead(r.place - 1, 1, (SELECT max(place) FROM {{ ranks }})) OVER below AS last,
            row_number() OVER below = 1 AS is_first
        FROM {{ held }} AS h
        JOIN {{ ranks }} AS r ON r.value IS NOT DISTINCT FROM h.value
        WINDOW below AS (PARTITION BY h.class_id ORDER BY r.place ASC)
    ) AS s
    ASOF JOIN cumulated AS q ON s.share >= q.share
)
SELECT
    b.class_id,
    coalesce(sum(e.distance), 0.0) / (SELECT greatest(max(place) - 1, 1) FROM {{ ranks }}) AS value
FROM {{ body }} AS b
LEFT JOIN (
    SELECT
        s.class_id,
        CASE WHEN s.is_first THEN low.total ELSE 0.0 END
        + s.share * (2 * greatest(s.passed, s.before) - s.before - s.last)
        - (2 * middle.total - low.total - high.total) AS distance
    FROM stretch AS s
    JOIN cumulated AS low ON low.place = s.before
    JOIN cumulated AS middle ON middle.place = greatest(s.passed, s.before)
    JOIN cumulated AS high ON high.place = s.last
) AS e ON e.class_id = b.class_id
GROUP BY b.class_id
{% endmacro %}
