{#- Hierarchies as they are stored, and settings of the columns that have them. -#}
{#- A setting of trees (columns or rules of the gate) as a number, by the column that says whose tree it is. -#}
{% macro setting(trees, name, otherwise, tree) -%}
    {%- for q in trees if q[name] is not none and q[name] != otherwise -%}
        {%- if loop.first -%} CASE {{ tree }} {%- endif %} WHEN {{ q.tree }} \
            THEN {{ q[name] }}{% if loop.last %} ELSE {{ otherwise }} END{% endif -%}
    {%- else -%} {{ otherwise }}
    {%- endfor -%}
{%- endmacro %}
{#- Rows of hierarchies from label paths (root first). A node is its path, so equal labels in different branches are
    different nodes; ord is the order of first appearance. `with_tree`: the paths have a column tree, the number of the
    hierarchy. -#}
{% macro rows_of_paths(paths, with_tree=false) -%}
SELECT
        {% if with_tree %}tree, {% endif %}array_to_string(escaped[1:depth], '/') COLLATE POSIX AS node,
        CASE WHEN depth > 1 THEN array_to_string(escaped[1:depth - 1], '/') END COLLATE POSIX AS parent,
        path[depth] COLLATE POSIX AS label, min(place)::BIGINT AS ord
    FROM (
        SELECT *, unnest(range(1, len(path) + 1)) AS depth,
            list_transform(path, lambda label: replace(replace(label, '\', '\\'), '/', '\/')) AS escaped
        FROM ({{ paths }})
    )
    GROUP BY ALL
{%- endmacro %}
{#- The rows of hierarchies, those of one table by one reading of it. -#}
{% macro hierarchies(columns) -%}
{% set tables = columns|selectattr('stored_table')|groupby('stored_table') %}
{% set inline = columns|selectattr('inline_paths')|list %}
-- One row per node of a hierarchy: {% for q in columns %}tree {{ q.tree }} is that of {{ q.raw_name|comment }}{{ \
    sql(', ') if not loop.last }}{% endfor %}.
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
