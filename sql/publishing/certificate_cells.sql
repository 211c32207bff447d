{#- The positions of the sensitive values of a release in the hierarchy of their column, as a privacy model uses it
    (its places), numbered. No node is named. -#}
{%- from 'release/plan/hierarchy_columns.sql' import all_trees with context -%}
{% for s in model_columns %}
{% for m in s.models if m.number == number %}
WITH RECURSIVE
-- One row per record of the release: the text of the sensitive value.
kept AS MATERIALIZED (
    SELECT CAST({{ column }} AS VARCHAR) COLLATE POSIX AS {{ 'category'|of(s) }} FROM {{ version }}
),
-- One row per sensitive value.
sensitive_values AS MATERIALIZED (SELECT DISTINCT {{ 'category'|of(s) }} AS value FROM kept),
{{ all_trees([s.tree], sql('kept')) }}
{% import m.file as model %}
-- One row per sensitive value and place.
value_places AS ({{ model.places(
    m.form, sql('sensitive_values'), sql('hierarchy'), sql('(SELECT label, node AS place FROM nodes WHERE is_leaf)')
) }})
SELECT
    value
    {% for column in m.places %}
    , {% if loop.first %}dense_rank() OVER (ORDER BY {{ column }} ASC NULLS LAST) AS {% endif %}{{ column }}
    {% endfor %}
FROM value_places
ORDER BY value ASC, {{ m.places[0] }} ASC
{% endfor %}
{% endfor %}
