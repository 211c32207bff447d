{#- What a record of each class loses in the published values. Edges: the height of a published node's own subtree over
    that of the whole hierarchy (k-member); leaves: its share of the leaves (NCP), 0 for a leaf. A number loses the same
    in both. NULLs as in span_values.sql. -#}
{%- from 'release/plan/column_rows.sql' import column_numbers, derived_list -%}
{% set has_trees = quasi|rejectattr('is_number')|list|length > 0 %}
{% macro loss_of(by_nodes) -%}
CASE WHEN x.number IS NOT NULL THEN x.number{% if has_trees %} {% if widens %}WHEN x.raised = -2 THEN 1.0 {% endif %}\
            WHEN x.filled = x.size THEN {{ by_nodes }} WHEN x.filled > 0 THEN 1.0 ELSE 0.0{% endif %} END
{%- endmacro %}
-- One row per class and quasi-identifier (attribute, its number): the loss of a record, by edges and by leaves of the
-- hierarchy; that of a number is also in `number`. Spans that publish the same values have the same loss.
column_losses AS MATERIALIZED (
    SELECT
        x.class_id, x.attribute, x.number,
        {{ loss_of(sql('coalesce(t.height::DOUBLE / nullif(root.height, 0), 0.0)')) }} AS edges,
        {{ loss_of(sql('CASE WHEN t.height = 0 THEN 0.0 ELSE t.leaves::DOUBLE / root.leaves END')) }} AS leaves
    FROM (
        SELECT
            g.class_id, x.size, {{ column_numbers(quasi) }} AS attribute,
            unnest([{% for q in quasi %}{% if q.is_number %}g.{{ 'loss'|of(q) }}{% else %}NULL{% endif %}\
                {{ sql(', ') if not loop.last }}{% endfor %}]::DOUBLE[]) AS number,
            unnest({{ derived_list(quasi, sql('x.'), 'low') }}) AS low,
            unnest({{ derived_list(quasi, sql('x.'), 'high') }}) AS high,
            {% if widens %}
            unnest({{ derived_list(quasi, sql('x.'), 'raised') }}) AS raised,
            {% endif %}
            unnest({{ derived_list(quasi, sql('x.'), 'filled') }}) AS filled
        FROM generalized_spans AS g
        JOIN span_ranges AS x USING (span)
        WHERE span IN (SELECT min(span) FROM generalized_spans GROUP BY class_id)
    ) AS x
    {% if has_trees %}
    LEFT JOIN range_nodes AS p ON p.tree = x.attribute AND p.low = x.low AND p.high = x.high\
        {% if widens %} AND p.raised = x.raised{% endif +%}
    LEFT JOIN nodes AS t ON t.tree = p.tree AND t.node = p.node
    LEFT JOIN nodes AS root ON root.tree = p.tree AND root.node = 0
    {% endif %}
),
