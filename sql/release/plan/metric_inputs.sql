{#- The inputs of metrics and classes: classes as published, and the sensitive values in each. -#}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
-- Chapter 5, measure: classes and metrics are computed from the checked rows.
-- One row per equivalence class: its published values, and its number of records (and persons).
sized_classes AS MATERIALIZED (
    SELECT c.*, r.size{% if person %}, r.persons{% endif %}
    FROM {% if noise %}(SELECT DISTINCT class_id FROM released_values){% else %}published_classes{% endif %} AS c
    JOIN (
        {% if person %}
        SELECT l.class_id, sum({{ dealt() }})::BIGINT AS size, count(DISTINCT s.person) AS persons \
            FROM {{ records() }} GROUP BY l.class_id
        {% else %}
        SELECT class_id, sum(size)::BIGINT AS size FROM released_values GROUP BY class_id
        {% endif %}
    ) AS r USING (class_id)
)
{% for u in unchanged if u.is_sensitive %}
-- One row per class and sensitive value: how many records. Equal values with different texts count as one.
, {{ 'in classes'|of(u) }} AS MATERIALIZED (
    {# If values compare equal and are written differently, one of them represents all, whatever their order. #}
    SELECT class_id, {% if u.text_is_value %}{{ u.column }}\
        {% else %}min_by({{ u.column }}, {{ 'text'|of(u) }}){% endif %} AS value, sum(size)::BIGINT AS size
    FROM released_values
    GROUP BY class_id, {{ u.column }}
)
-- One row per sensitive value: how many records or persons have it in the whole release.
, {{ 'overall'|of(u) }} AS MATERIALIZED (
    {% if person %}
    SELECT {% if u.text_is_value %}s.{{ u.column }}{% else %}min_by(s.{{ u.column }}, \
        s.{{ u.column }}::VARCHAR){% endif %} AS value, count(DISTINCT s.person) AS size
    FROM {{ records() }}
    GROUP BY s.{{ u.column }}
    {% else %}
    SELECT {% if u.text_is_value %}c.value{% else %}min_by(c.value, c.value::VARCHAR){% endif %} AS value, \
        sum(c.size)::BIGINT AS size
    FROM {{ 'in classes'|of(u) }} AS c
    GROUP BY c.value
    {% endif %}
)
{% endfor %}
