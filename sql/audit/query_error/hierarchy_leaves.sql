{#- The categories of several columns as numbers: leaves (attribute, value, place), the place of each value in its
    column's order, and published_names (attribute, name, low, high), the places that a published text represents. With
    a hierarchy, values are in its order. Without one, they are in the order of their texts, and a published text
    represents the places from the first to the last value that it covers. -#}
{%- from 'release/plan/hierarchy_preorder.sql' import reach -%}
{%- from 'table_functions/covering.sql' import covering -%}
{#- The names of columns as values, and the columns, in brackets: unnest of both lists makes one row per column. -#}
{% macro keys_of(columns, brackets='()') -%}
    {{ sql(brackets[0]) }}{% for c in columns %}{{ c.key }}{{ sql(', ') if not loop.last }}{% endfor %}
    {{- sql(brackets[1]) }}
{%- endmacro %}
{% macro columns_of(columns) -%}
    [{% for c in columns %}{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}]
{%- endmacro %}
{% macro hierarchy_nodes(columns) %}
-- One row per node of a hierarchy, as it is stored.
hierarchies AS MATERIALIZED (
    {% for table, pairs in columns|selectattr('hierarchy_table')|groupby('hierarchy_table') %}
    SELECT
        c.attribute AS tree, h.node COLLATE POSIX AS node, h.parent COLLATE POSIX AS parent,
        h.label COLLATE POSIX AS label, COLUMNS('^(position|ord)$') AS ord
    FROM {{ table }} AS h
    JOIN compared_columns AS c ON c.hierarchy = h.name COLLATE POSIX
    WHERE c.attribute IN {{ keys_of(pairs) }}
    {% if not loop.last or columns|rejectattr('hierarchy_table')|list %}UNION ALL{% endif +%}
    {% endfor %}
    {% for c in columns|rejectattr('hierarchy_table') %}
    SELECT
        {{ c.key }} COLLATE POSIX AS tree, r[1] COLLATE POSIX AS node, r[2] COLLATE POSIX AS parent,
        r[3] COLLATE POSIX AS label, ord
    FROM unnest({{ c.node_lists }}) WITH ORDINALITY AS t (r, ord)
    {% if not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
),
{{ reach(sql('hierarchies'), sql('siblings'), sql('reachable_nodes')) }}
-- One row per node that a root reaches: the first and the last place below it. The leaves of a hierarchy have the
-- places from 0 in its order.
nodes AS MATERIALIZED (
    SELECT n.tree AS attribute, n.* EXCLUDE (tree), r.low, r.high
    FROM reachable_nodes AS n
    JOIN (
        SELECT tree, node COLLATE POSIX AS node, min(place) AS low, max(place) AS high
        FROM (
            SELECT
                tree, unnest(line) AS node,
                (dense_rank() OVER (PARTITION BY tree ORDER BY places ASC) - 1)::DOUBLE AS place
            FROM reachable_nodes
            WHERE is_leaf
        )
        GROUP BY ALL
    ) AS r ON r.tree = n.tree AND r.node = n.node
),
{% endmacro %}
{% macro leaves(columns) %}
{% set trees = columns|selectattr('has_hierarchy')|list %}
{% set flat = columns|rejectattr('has_hierarchy')|list %}
-- One row per distinct category of a column in its raw table: hierarchies must have it; without one it is a leaf.
raw_categories AS MATERIALIZED (
    {% for cells, pairs in columns|groupby('source_cells') %}
    SELECT DISTINCT attribute COLLATE POSIX AS attribute, value
    FROM (
        SELECT unnest({{ keys_of(pairs, '[]') }}) AS attribute, unnest({{ columns_of(pairs) }}) AS value
        FROM {{ cells }}
    )
    WHERE value IS NOT NULL
    {% if not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
),
{% if trees %}
{{ hierarchy_nodes(trees) }}
{% endif %}
-- One row per category of a column: its place in the order of the column.
leaves AS MATERIALIZED (
    {% if trees %}
    SELECT attribute, label COLLATE POSIX AS value, low AS place FROM nodes WHERE is_leaf
    {% endif %}
    {% if trees and flat %}
    UNION ALL
    {% endif %}
    {% if flat %}
    SELECT attribute, value, (row_number() OVER (PARTITION BY attribute ORDER BY value ASC) - 1)::DOUBLE AS place
    FROM raw_categories
    WHERE attribute IN {{ keys_of(flat) }}
    {% endif %}
),
-- One row per text with which a category may be published: the first and the last place that it represents.
{% if trees %}
-- A label is that of an inner node first: a value that has the same one is published with a backslash.
{% endif %}
published_names AS MATERIALIZED (
    SELECT attribute, name COLLATE POSIX AS name, min(low) AS low, max(high) AS high, min(depth) AS depth
    FROM (
        {% if trees %}
        SELECT
            attribute, unnest([label, array_to_string(labels[2:], ' > ')]) AS name, low, high, len(labels) AS depth
        FROM nodes
        WHERE NOT is_leaf
        UNION ALL
        SELECT l.attribute, unnest([CASE WHEN n.label IS NULL THEN l.value END, '\' || l.value]), l.place, l.place, NULL
        FROM leaves AS l
        LEFT JOIN (SELECT DISTINCT attribute, label FROM nodes WHERE NOT is_leaf) AS n
            ON n.attribute = l.attribute AND n.label = l.value
        {% if flat %}
        WHERE l.attribute IN {{ keys_of(trees) }}
        {% endif %}
        {% endif %}
        {% if trees and flat %}
        UNION ALL
        {% endif %}
        {% if flat %}
        SELECT attribute, value AS name, place AS low, place AS high, NULL::BIGINT AS depth
        FROM leaves
        WHERE attribute IN {{ keys_of(flat) }}
        UNION ALL
        SELECT attribute, published, place, place, CASE WHEN published <> '\' || value THEN 1 END
        FROM (
            SELECT t.attribute, t.published
            FROM published_texts AS t
            ANTI JOIN leaves AS l ON l.attribute = t.attribute AND l.value = t.published
            WHERE t.published <> '*' AND t.attribute IN {{ keys_of(flat) }}
        )
        JOIN leaves USING (attribute)
        WHERE {{ covering() }}
        {% endif %}
    )
    WHERE name IS NOT NULL
    GROUP BY ALL
),
{% endmacro %}
