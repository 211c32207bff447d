{#- The hierarchy of a sensitive column s.i: rows_i (node, parent, label, ord) as stored; node_i every node that the root
    reaches, its place in preorder; leaf_i the leaf of each value. -#}
{%- from 'release/plan/hierarchy_preorder.sql' import walk -%}
{%- import 'table_functions/interval_text.sql' as form -%}
{% macro tree(s) %}
{{ walk(s) }}
-- A row a node of the hierarchy: its place in preorder.
{{ 'node'|of(s) }} AS MATERIALIZED (
    SELECT node, parent, label, is_leaf, row_number() OVER (ORDER BY places ASC) AS place
    FROM {{ 'preorder'|of(s) }}
),
-- A row a sensitive value: the leaves of that label.
{{ 'leaf'|of(s) }} AS MATERIALIZED (
    SELECT o.value, count(n.node) AS hits, min(n.place) AS place
    FROM {{ 'overall'|of(s) }} AS o
    LEFT JOIN {{ 'node'|of(s) }} AS n ON n.is_leaf AND n.label = ({{ form.label_of(sql('o.value')) }}) COLLATE POSIX
    WHERE o.value IS NOT NULL
    GROUP BY o.value
),
{% endmacro %}
