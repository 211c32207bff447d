{#- The loss of a record by the gate's own formula, from the published values alone: one row per class and column with
    the class's number of records. Only if every column can be measured in this way (can_check_loss). -#}
{%- from 'gate/gate_distance.sql' import apart, ends with context -%}
{%- from 'gate/column_rows.sql' import column_numbers, derived_list -%}
{% macro published_losses() -%}
{% set climbing = rules|rejectattr('is_number')|list %}
{% for r in rules if r.is_number %}
{{ sql('    ') if not loop.first }}SELECT v.class_id, v.size, CASE
        WHEN {% if typed %}v.{{ 'low'|of(r) }} IS NULL{% else %}v.{{ 'published'|of(r) }} = '*'{% endif %} THEN 1.0
        {% if not typed %}WHEN v.{{ 'published'|of(r) }} IS NULL THEN 0.0{% endif %}
        ELSE coalesce({{ apart(r.ends.type, ends(r, 'high'), ends(r, 'low')) }} \
            / nullif({{ apart(r.ends.type, sql('max(', ends(r, 'high'), ') OVER ()'), \
            sql('min(', ends(r, 'low'), ') OVER ()')) }}, 0), 0.0)
    END AS loss
    FROM regrouped_classes AS v{% if not typed %} \
        LEFT JOIN {{ 'parsed'|of(r) }} AS a ON a.published = v.{{ 'published'|of(r) }}{% endif +%}
    {% if not loop.last or climbing %}UNION ALL{% endif +%}
{% endfor %}
{% if climbing %}
    SELECT class_id, size, CASE WHEN published IS NULL THEN 0.0 ELSE coalesce(loss, 1.0) END AS loss
    FROM (
        SELECT class_id, size, {{ column_numbers(climbing) }} AS tree, \
            unnest({{ derived_list(climbing, sql(''), 'published') }}) COLLATE POSIX AS published
        FROM regrouped_classes
    )
    LEFT JOIN (
        SELECT tree, published, max(CASE WHEN is_leaf THEN 0.0 \
            ELSE (levels - 1 - depth) / (levels - 1.0::DOUBLE) END) AS loss
        FROM nodes JOIN (SELECT tree, max(depth) + 1 AS levels FROM nodes GROUP BY tree) USING (tree)
        GROUP BY tree, published
    ) USING (tree, published)
{%- endif -%}
{%- endmacro %}
