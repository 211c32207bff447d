{#- What a record of each class loses in the published values. Edges: the height of a published node's own subtree over
    that of the whole hierarchy (k-member); leaves: its share of the leaves (NCP), 0 for a leaf. A number, NULL and `*`
    lose the same in all forms (see span_values.sql). -#}
{%- from 'release/plan/column_rows.sql' import column_numbers, derived_list -%}
{% set has_trees = quasi|rejectattr('is_number')|list|length > 0 %}
-- One row per class and quasi-identifier (attribute, its number): the class's number of records, and the loss of a
-- record by depth in the hierarchy, by edges and by leaves. Spans that publish the same values have the same loss.
{% if counts_used_leaves %}
-- is_whole: the published value reveals nothing.
{% endif %}
column_losses AS MATERIALIZED (
    SELECT
        x.class_id, x.size, x.attribute, x.loss,
        {% if has_trees %}
        coalesce(n.height::DOUBLE / nullif(root.height, 0), x.loss) AS edges,
        coalesce(CASE WHEN n.height = 0 THEN 0.0 ELSE n.leaves::DOUBLE / root.leaves END, x.loss) AS leaves
        {% else %}
        x.loss AS edges, x.loss AS leaves
        {% endif %}
        {% if counts_used_leaves %}
        , {% if has_trees %}coalesce(n.height > 0 AND n.depth < coalesce(fork.depth, n.depth + 1), x.loss >= 1)\
        {% else %}x.loss >= 1{% endif %} AS is_whole
        {% endif %}
    FROM (
        SELECT
            g.class_id, c.size, {{ column_numbers(quasi) }} AS attribute,
            unnest({{ derived_list(quasi, sql('g.'), 'loss') }}) AS loss{% if has_trees %},
            unnest({{ derived_list(quasi, sql('x.'), 'low') }}) AS low,
            unnest({{ derived_list(quasi, sql('x.'), 'high') }}) AS high,
            {% if widens %}
            unnest({{ derived_list(quasi, sql('x.'), 'raised') }}) AS raised,
            {% endif %}
            x.size = unnest({{ derived_list(quasi, sql('x.'), 'filled') }}) AS is_filled{% endif +%}
        FROM generalized_spans AS g
        JOIN span_ranges AS x USING (span)
        JOIN sized_classes AS c USING (class_id)
        WHERE span IN (SELECT min(span) FROM generalized_spans GROUP BY class_id)
    ) AS x
    {% if has_trees %}
    LEFT JOIN range_nodes AS p ON p.tree = x.attribute AND p.low = x.low AND p.high = x.high AND x.is_filled\
        {% if widens %} AND p.raised = x.raised AND x.raised <> -2{% endif +%}
    LEFT JOIN nodes AS n ON n.tree = p.tree AND n.node = p.node
    LEFT JOIN nodes AS root ON root.tree = p.tree AND root.node = 0
    {% if counts_used_leaves %}
    {# A node is above all leaves of its hierarchy if no other node is at its depth or nearer to the root. #}
    LEFT JOIN (
        SELECT tree, min(depth) AS depth FROM (SELECT tree, depth FROM nodes GROUP BY tree, depth HAVING count(*) > 1)
        GROUP BY tree
    ) AS fork ON fork.tree = p.tree
    {% endif %}
    {% endif %}
),
