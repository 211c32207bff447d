{#- A category of query_error: leaf_i (value, place), the places of the leaves in their order, and names_i (name, low, high),
    the places below what a node may be published as. Without a hierarchy the leaves are the source's values by their
    text, and a published text is the run from the first to the last one that it covers. -#}
{%- import 'functions/form.sql' as form -%}
{%- from 'release/part/preorder.sql' import walk -%}
{%- from 'functions/covering.sql' import covering -%}
{% macro leaves(c) %}
{% if c.rows %}
{{ walk(c) }}
node_{{ c.i }} AS MATERIALIZED (
    SELECT * FROM {{ 'preorder'|of(c) }}
),
placed_{{ c.i }} AS MATERIALIZED (
    SELECT label, line, row_number() OVER (ORDER BY places ASC) - 1 AS place FROM node_{{ c.i }} WHERE is_leaf
),
leaf_{{ c.i }} AS MATERIALIZED (
    SELECT label COLLATE POSIX AS value, place::DOUBLE AS place FROM placed_{{ c.i }}
),
below_{{ c.i }} AS MATERIALIZED (
    SELECT node COLLATE POSIX AS node, min(place)::DOUBLE AS low, max(place)::DOUBLE AS high
    FROM (SELECT unnest(line) AS node, place FROM placed_{{ c.i }})
    GROUP BY ALL
),
{# An inner node's label stands before a leaf's: a value that has it is published with a backslash. #}
names_{{ c.i }} AS MATERIALIZED (
    SELECT name COLLATE POSIX AS name, min(low) AS low, max(high) AS high
    FROM (
        SELECT unnest([n.label, array_to_string(n.labels[2:], ' > ')]) AS name, b.low, b.high
        FROM node_{{ c.i }} AS n
        JOIN below_{{ c.i }} AS b ON b.node = n.node
        WHERE NOT n.is_leaf
        UNION ALL
        SELECT unnest([CASE WHEN value NOT IN (SELECT label FROM node_{{ c.i }} WHERE NOT is_leaf) THEN value END, '\' || value]), place, place
        FROM leaf_{{ c.i }}
    )
    WHERE name IS NOT NULL
    GROUP BY ALL
),
{% else %}
leaf_{{ c.i }} AS MATERIALIZED (
    SELECT value, (row_number() OVER (ORDER BY value ASC) - 1)::DOUBLE AS place
    FROM (SELECT DISTINCT v{{ c.i }} AS value FROM {{ c.raw }} WHERE v{{ c.i }} IS NOT NULL)
),
names_{{ c.i }} AS MATERIALIZED (
    SELECT value AS name, place AS low, place AS high FROM leaf_{{ c.i }}
    UNION ALL
    SELECT published, min(place), max(place)
    FROM (
        SELECT published, place
        FROM (
            SELECT DISTINCT p{{ c.i }} AS published FROM {{ c.told }}
            WHERE p{{ c.i }} <> '*' AND p{{ c.i }} NOT IN (SELECT value FROM leaf_{{ c.i }})
        )
        CROSS JOIN leaf_{{ c.i }}
        WHERE {{ covering() }}
    )
    GROUP BY published
),
{% endif %}
{% endmacro %}
