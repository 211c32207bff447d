{#- The loss of each class by the gate's own formula, from the published values alone: own_loss (class_id, size, loss),
    if every column can be measured in this way. -#}
{%- from 'gate/gate_distance.sql' import apart, ends with context -%}
{% if can_check_loss %}
-- One row per class: its size and the loss of a record, computed from published values alone.
own_loss AS MATERIALIZED (
    SELECT
        class_id, size,
        (0.0{% for r in rules %}
        + CASE
            {% if r.is_number %}
            WHEN {% if typed %}v.{{ 'low'|of(r) }} IS NULL{% else %}v.{{ 'published'|of(r) }} = '*'{% endif %} THEN 1.0
            {% if not typed %}WHEN v.{{ 'published'|of(r) }} IS NULL THEN 0.0{% endif %}
            ELSE coalesce({{ apart(r.ends.type, ends(r, 'high'), ends(r, 'low')) }} \
                / \
                nullif({{ apart(r.ends.type, sql('max(', ends(r, 'high'), ') OVER ()'), \
                sql('min(', ends(r, 'low'), ') OVER ()')) }}, 0), 0.0)
            {% else %}
            WHEN v.{{ 'published'|of(r) }} IS NULL THEN 0.0
            ELSE coalesce({{ 'allowed'|of(r) }}.loss, 1.0)
            {% endif %}
        END{% endfor %}) / {{ rules|length }} AS loss
    FROM regrouped_classes AS v
    {% for r in rules %}
    {% if not r.is_number %}
    LEFT JOIN (
        SELECT published, max(CASE WHEN is_leaf THEN 0.0 \
            ELSE (top.levels - 1 - depth) / (top.levels - 1.0::DOUBLE) END) AS loss
        FROM nodes, (SELECT max(depth) + 1 AS levels FROM nodes WHERE tree = {{ r.tree }}) AS top
        WHERE tree = {{ r.tree }}
        GROUP BY published
    ) AS {{ 'allowed'|of(r) }} ON {{ 'allowed'|of(r) }}.published = v.{{ 'published'|of(r) }}
    {% elif not typed %}
    LEFT JOIN {{ 'parsed'|of(r) }} AS {{ 'allowed'|of(r) }} ON {{ 'allowed'|of(r) }}.published \
        = v.{{ 'published'|of(r) }}
    {% endif %}
    {% endfor %}
),
{% endif %}
