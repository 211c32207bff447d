{#- certificate(): what a release achieves by one privacy model, from its published rows alone. -#}
{%- import file as model -%}
WITH
-- One row per class and sensitive value: how many rows.
class_values AS (
    SELECT row({{ part }}) AS class_id, {{ value }} AS value, {{ count }} AS size FROM {{ release }} GROUP BY ALL
),
-- One row per class: its size.
class_sizes AS (SELECT class_id, sum(size)::BIGINT AS size FROM class_values GROUP BY class_id),
-- One row per sensitive value: how many rows.
value_counts AS (SELECT value, sum(size)::BIGINT AS size FROM class_values GROUP BY value),
{% if places and cells %}
-- One row per sensitive value and place in its hierarchy.
value_places AS (
    SELECT
        c.value
        {% for column in places %}
        , p.{{ column }}
        {% endfor %}
    FROM value_counts AS c
    JOIN (VALUES {{ cells }}) AS p (
        value
        {% for column in places %}
        , {{ column }}
        {% endfor %}
    ) ON p.value IS NOT DISTINCT FROM CAST(c.value AS VARCHAR) COLLATE POSIX
),
{% elif places %}
-- One row per sensitive value and place among the others.
value_places AS ({{ model.places(form, sql('value_counts'), none, none) }}),
{% endif %}
-- One row per class: the value of the model.
class_measures AS (
    {{ model.measure(form, {
        'held': sql('class_values'), 'body': sql('class_sizes'),
        'overall': sql('value_counts'), 'places': sql('value_places')
    }, settings) }}
)
SELECT {% if higher %}min{% else %}max{% endif %}(value) FROM class_measures
