{#- Hierarchies as they are stored, and settings of the columns that have them. -#}
{%- from 'policy/hierarchies/hierarchy_rows.sql' import rows_of_paths -%}
{#- A setting of trees (columns or rules of the gate) as a number, by the column that says whose tree it is. -#}
{% macro setting(trees, name, otherwise, tree) -%}
    {%- for q in trees if q[name] is not none and q[name] != otherwise -%}
        {%- if loop.first -%} CASE {{ tree }} {%- endif %} WHEN {{ q.tree }} THEN {{ q[name] }}{% if loop.last %} ELSE {{ otherwise }} END{% endif -%}
    {%- else -%} {{ otherwise }}
    {%- endfor -%}
{%- endmacro %}
{#- The rows of hierarchies, those of one table by one reading of it. -#}
{% macro hierarchies(columns) -%}
{% set tables = columns|selectattr('stored_table')|groupby('stored_table') %}
{% set inline = columns|selectattr('inline_paths')|list %}
-- One row per node of a hierarchy: {% for q in columns %}tree {{ q.tree }} is that of {{ q.raw_name|comment }}{{ sql(', ') if not loop.last }}{% endfor %}.
hierarchy AS MATERIALIZED (
    {% for table, stored in tables %}
    SELECT
        tree, node COLLATE POSIX AS node, parent COLLATE POSIX AS parent, label COLLATE POSIX AS label,
        COLUMNS('^(position|ord)$') AS ord
    FROM {{ table }}
    JOIN (
        VALUES {% for q in stored %}({{ q.tree }}, {{ q.stored_name }}){{ sql(', ') if not loop.last }}{% endfor +%}
    ) AS named (tree, hierarchy_name) ON (name COLLATE POSIX) = hierarchy_name
    {% if inline or not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
    {% if inline %}
    {% set paths %}
SELECT tree, unnest(paths) AS path, generate_subscripts(paths, 1) AS place
        FROM (
            {% for q in inline %}
            SELECT {{ q.tree }} AS tree, {{ q.inline_paths }} AS paths
            {% if not loop.last %}UNION ALL{% endif +%}
            {% endfor %}
        )
    {%- endset %}
    {{ rows_of_paths(paths, true) }}
    {% endif %}
),
{%- endmacro %}
