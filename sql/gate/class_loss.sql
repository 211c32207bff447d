{#- The loss of each class by the gate's own formula, from the published values alone: own_loss (class_id, size, loss),
    if every column can be measured in this way. -#}
{%- from 'gate/gate_distance.sql' import apart, ends with context -%}
{%- from 'gate/column_rows.sql' import column_numbers, derived_list -%}
{% if can_check_loss %}
{% set climbing = rules|rejectattr('is_number')|list %}
-- One row per class: its size and the loss of a record, computed from published values alone.
own_loss AS MATERIALIZED (
    SELECT class_id, any_value(size) AS size, sum(loss) / {{ rules|length }} AS loss
    FROM (
        {% for r in rules if r.is_number %}
        SELECT v.class_id, v.size, CASE
            WHEN {% if typed %}v.{{ 'low'|of(r) }} IS NULL{% else %}v.{{ 'published'|of(r) }} = '*'{% endif %} THEN 1.0
            {% if not typed %}WHEN v.{{ 'published'|of(r) }} IS NULL THEN 0.0{% endif %}
            ELSE coalesce({{ apart(r.ends.type, ends(r, 'high'), ends(r, 'low')) }} \
                / nullif({{ apart(r.ends.type, sql('max(', ends(r, 'high'), ') OVER ()'), \
                sql('min(', ends(r, 'low'), ') OVER ()')) }}, 0), 0.0)
        END AS loss
        FROM regrouped_classes AS v
        {% if not typed %}
        LEFT JOIN {{ 'parsed'|of(r) }} AS a ON a.published = v.{{ 'published'|of(r) }}
        {% endif %}
        {% if not loop.last or climbing %}UNION ALL{% endif +%}
        {% endfor %}
        {% if climbing %}
        SELECT v.class_id, v.size, CASE WHEN v.published IS NULL THEN 0.0 ELSE coalesce(a.loss, 1.0) END AS loss
        FROM (
            SELECT class_id, size, {{ column_numbers(climbing) }} AS tree, \
                unnest({{ derived_list(climbing, sql(''), 'published') }}) COLLATE POSIX AS published
            FROM regrouped_classes
        ) AS v
        LEFT JOIN (
            SELECT n.tree, n.published, max(CASE WHEN n.is_leaf THEN 0.0 \
                ELSE (top.levels - 1 - n.depth) / (top.levels - 1.0::DOUBLE) END) AS loss
            FROM nodes AS n JOIN (SELECT tree, max(depth) + 1 AS levels FROM nodes GROUP BY tree) AS top USING (tree)
            GROUP BY n.tree, n.published
        ) AS a ON a.tree = v.tree AND a.published = v.published
        {% endif %}
    )
    GROUP BY class_id
),
{% endif %}
