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
{% if paths is defined %}{{ rows_of_paths(paths) }}{% endif %}
