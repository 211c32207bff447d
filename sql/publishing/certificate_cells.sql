{#- Where the sensitive values that a release has stand in the hierarchy of their column, as a model takes it (its
    places), numbered: no node is named. -#}
{%- from 'release/plan/hierarchy_columns.sql' import all_trees with context -%}
{% for s in model_columns %}{% for m in s.models if m.number == number %}
WITH RECURSIVE
kept AS MATERIALIZED (SELECT CAST({{ column }} AS VARCHAR) COLLATE POSIX AS {{ 'category'|of(s) }} FROM {{ version }}),
overall AS MATERIALIZED (SELECT DISTINCT {{ 'category'|of(s) }} AS value FROM kept),
{{ all_trees([s.tree], sql('kept')) }}
{% import m.file as model %}
places AS ({{ model.places(m.form, sql('overall'), sql('hierarchy'), sql('(SELECT label, node AS place FROM nodes WHERE is_leaf)')) }})
SELECT value{% for column in m.places %}, {% if loop.first %}dense_rank() OVER (ORDER BY {{ column }} ASC NULLS LAST) AS {% endif %}{{ column }}{% endfor %}
FROM places
ORDER BY value ASC, {{ m.places[0] }} ASC
{% endfor %}{% endfor %}
