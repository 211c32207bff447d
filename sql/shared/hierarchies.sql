{#- Hierarchies as they are stored, and settings of the columns that have them. -#}
{#- A setting of trees (columns or rules of the gate) as a number, by the column that says whose tree it is. -#}
{% macro setting(trees, name, otherwise, tree) -%}
    {%- for q in trees if q[name] is not none and q[name] != otherwise -%}
        {%- if loop.first -%} CASE {{ tree }} {%- endif %} WHEN {{ q.tree }} THEN {{ q[name] }}{% if loop.last %} ELSE {{ otherwise }} END{% endif -%}
    {%- else -%} {{ otherwise }}
    {%- endfor -%}
{%- endmacro %}
{% macro hierarchies(stored) -%}
-- One row per stored node of a hierarchy.
hierarchy AS MATERIALIZED (
    {% for q in stored %}
    SELECT {{ q.tree }} AS tree, node, parent, label, ord FROM ({{ q.rows }})
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
{%- endmacro %}
