{#- The inputs of metrics and classes: classes as published, and the sensitive values in each. -#}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{% set sensitive = unchanged|selectattr('is_sensitive')|list %}
-- Chapter 5, measure: classes and metrics are computed from the checked rows.
{% for u in sensitive %}
{% if metrics is defined %}
-- One row per sensitive value: how many {% if person %}persons{% else %}records{% endif %} have it. Equal values with \
    different texts count as one.
{{ 'value sizes'|of(u) }} AS MATERIALIZED (
    {% if person %}
    SELECT {% if u.text_is_value %}{{ u.column }}{% else %}min_by({{ u.column }}, {{ u.column }}::VARCHAR){% endif %} \
        AS value, count(DISTINCT person) AS size
    FROM {{ records() }}
    {% else %}
    SELECT {% if u.text_is_value %}{{ u.column }}{% else %}min_by({{ u.column }}, {{ 'text'|of(u) }}){% endif %} \
        AS value, sum(size)::BIGINT AS size
    FROM released_values
    {% endif %}
    GROUP BY {{ u.column }}
),
{% else %}
-- One row per class and sensitive value: how many records. Equal values with different texts count as one.
{{ 'in classes'|of(u) }} AS MATERIALIZED (
    {# If values compare equal and are written differently, one of them represents all, whatever their order. #}
    SELECT class_id, {% if u.text_is_value %}{{ u.column }}\
        {% else %}min_by({{ u.column }}, {{ 'text'|of(u) }}){% endif %} AS value, sum(size)::BIGINT AS size
    FROM released_values
    GROUP BY class_id, {{ u.column }}
),
{% endif %}
{% endfor %}
-- One row per equivalence class: its published values, its number of records{% if person %} and of persons{% endif %}\
    {% if metrics is defined and sensitive %}, and whether all have one sensitive value{% endif %}.
sized_classes AS MATERIALIZED (
    SELECT *
    FROM {% if noise %}(SELECT DISTINCT class_id FROM released_values){% else %}published_classes{% endif %} JOIN (
        SELECT
            class_id, sum({% if person %}{{ dealt() }}{% else %}size{% endif %})::BIGINT AS size\
            {% if person %}, count(DISTINCT person) AS persons{% endif %}\
            {% if metrics is defined %}{% for u in sensitive %},
            len(list(DISTINCT {{ u.column }})) = 1 AS {{ 'is one value'|of(u) }}{% endfor %}{% endif +%}
        FROM {% if person %}{{ records() }}{% else %}released_values{% endif +%}
        GROUP BY class_id
    ) USING (class_id)
)
