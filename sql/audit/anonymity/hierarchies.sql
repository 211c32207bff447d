{#- The hierarchy of a sensitive column: "disease: nodes", all nodes that the root reaches, and "disease: leaves", the
    number of leaves of each value. -#}
{%- from 'release/plan/hierarchy_preorder.sql' import walk -%}
{%- import 'table_functions/interval_text.sql' as form -%}
{% macro tree(s) %}
{{ walk(s) }}
-- One row per node of the hierarchy: its place in preorder.
{{ 'nodes'|of(s) }} AS MATERIALIZED (
    SELECT node, parent, label, is_leaf, row_number() OVER (ORDER BY places ASC) AS place
    FROM {{ 'preorder'|of(s) }}
),
-- One row per sensitive value: the number of leaves with that label.
{{ 'leaves'|of(s) }} AS MATERIALIZED (
    SELECT v.value, count(n.node) AS n_leaves
    FROM {{ 'values'|of(s) }} AS v
    LEFT JOIN {{ 'nodes'|of(s) }} AS n
        ON n.is_leaf AND n.label = ({{ form.label_of(sql('v.value')) }}) COLLATE POSIX
    WHERE v.value IS NOT NULL
    GROUP BY v.value
),
{% endmacro %}
