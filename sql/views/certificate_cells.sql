{#- Where the sensitive values that a release has stand in the hierarchy of their column: their ranks (value, place), or
    the sets that they are in (value, cell, weight). No node is named. -#}
{%- from 'release/part/tree.sql' import tree with context -%}
{%- import 'models/model.sql' as model -%}
{% for s in tested %}{% for m in s.models if m.number == number %}
WITH RECURSIVE
kept AS MATERIALIZED (SELECT CAST({{ column }} AS VARCHAR) COLLATE POSIX AS q{{ s.tree.i }} FROM {{ version }}),
overall AS MATERIALIZED (SELECT DISTINCT q{{ s.tree.i }} AS value FROM kept),
{{ tree(s.tree) }}
{% if m.emd == 'ordered' %}
spot AS (
    SELECT o.value, row_number() OVER (ORDER BY t.preorder ASC NULLS LAST) AS place
    FROM overall AS o LEFT JOIN tree_{{ s.tree.i }} AS t ON t.is_leaf AND t.label = o.value
)
SELECT value, place FROM spot ORDER BY place ASC
{% else %}
cell AS ({{ model.cells_hierarchical(sql('overall'), sql('rows_', s.tree.i)) }})
SELECT value, dense_rank() OVER (ORDER BY cell ASC NULLS LAST) AS cell, weight FROM cell ORDER BY value ASC, cell ASC
{% endif %}
{% endfor %}{% endfor %}
