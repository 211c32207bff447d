{#- A category of query_error: leaf_i (value, place), the places of the leaves in their order, and names_i (name, low, high),
    the places below what a node may be published as. Without a hierarchy the leaves are the source's values by their
    text, and a published text is the run from the first to the last one that it covers. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'release/plan/hierarchy_preorder.sql' import walk -%}
{%- from 'table_functions/covering.sql' import covering -%}
{% macro leaves(c) %}
{% if c.rows %}
{{ walk(c) }}
-- A row a node of the hierarchy, in preorder.
{{ 'node'|of(c) }} AS MATERIALIZED (
    SELECT * FROM {{ 'preorder'|of(c) }}
),
-- A row a leaf: its place among the leaves.
{{ 'placed'|of(c) }} AS MATERIALIZED (
    SELECT label, line, row_number() OVER (ORDER BY places ASC) - 1 AS place FROM {{ 'node'|of(c) }} WHERE is_leaf
),
-- A row a value: its place.
{{ 'leaf'|of(c) }} AS MATERIALIZED (
    SELECT label COLLATE POSIX AS value, place::DOUBLE AS place FROM {{ 'placed'|of(c) }}
),
-- A row a node: the first and the last place below it.
{{ 'below'|of(c) }} AS MATERIALIZED (
    SELECT node COLLATE POSIX AS node, min(place)::DOUBLE AS low, max(place)::DOUBLE AS high
    FROM (SELECT unnest(line) AS node, place FROM {{ 'placed'|of(c) }})
    GROUP BY ALL
),
-- A row a published text: the first and the last place that it stands for. An inner node's label stands before a
-- leaf's: a value that has it is published with a backslash.
{{ 'names'|of(c) }} AS MATERIALIZED (
    SELECT name COLLATE POSIX AS name, min(low) AS low, max(high) AS high
    FROM (
        SELECT unnest([n.label, array_to_string(n.labels[2:], ' > ')]) AS name, b.low, b.high
        FROM {{ 'node'|of(c) }} AS n
        JOIN {{ 'below'|of(c) }} AS b ON b.node = n.node
        WHERE NOT n.is_leaf
        UNION ALL
        SELECT unnest([CASE WHEN value NOT IN (SELECT label FROM {{ 'node'|of(c) }} WHERE NOT is_leaf) THEN value END, '\' || value]), place, place
        FROM {{ 'leaf'|of(c) }}
    )
    WHERE name IS NOT NULL
    GROUP BY ALL
),
{% else %}
-- A row a value: its place.
{{ 'leaf'|of(c) }} AS MATERIALIZED (
    SELECT value, (row_number() OVER (ORDER BY value ASC) - 1)::DOUBLE AS place
    FROM (SELECT DISTINCT v{{ c.i }} AS value FROM {{ c.source_cells }} WHERE v{{ c.i }} IS NOT NULL)
),
-- A row a published text: the first and the last place that it stands for.
{{ 'names'|of(c) }} AS MATERIALIZED (
    SELECT value AS name, place AS low, place AS high FROM {{ 'leaf'|of(c) }}
    UNION ALL
    SELECT published, min(place), max(place)
    FROM (
        SELECT published, place
        FROM (
            SELECT DISTINCT p{{ c.i }} AS published FROM {{ c.published_cells }}
            WHERE p{{ c.i }} <> '*' AND p{{ c.i }} NOT IN (SELECT value FROM {{ 'leaf'|of(c) }})
        )
        CROSS JOIN {{ 'leaf'|of(c) }}
        WHERE {{ covering() }}
    )
    GROUP BY published
),
{% endif %}
{% endmacro %}
