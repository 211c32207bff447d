{#- certificate(): what a release achieves by one privacy model, from its published rows alone. -#}
{%- import file as model -%}
WITH held AS (
    SELECT row({{ part }}) AS class_id, {{ value }} AS value, count(*) AS size FROM {{ release }} GROUP BY ALL
),
body AS (SELECT class_id, sum(size)::BIGINT AS size FROM held GROUP BY class_id),
overall AS (SELECT value, sum(size)::BIGINT AS size FROM held GROUP BY value),
{% if places and cells %}
{# Where the values that occur stand in their hierarchy. #}
spot (value, {% for column in places %}{% if not loop.first %}, {% endif %}{{ column }}{% endfor %}) AS (VALUES {{ cells }}),
places AS (
    SELECT o.value{% for column in places %}, s.{{ column }}{% endfor %}
    FROM overall AS o
    JOIN spot AS s ON s.value IS NOT DISTINCT FROM CAST(o.value AS VARCHAR) COLLATE POSIX
),
{% elif places %}
places AS ({{ model.places(form, sql('overall'), none, none) }}),
{% endif %}
judged AS (
{{ model.measure(form, {'held': sql('held'), 'body': sql('body'), 'overall': sql('overall'), 'places': sql('places')}, settings) }}
)
SELECT {% if higher %}min{% else %}max{% endif %}(value) FROM judged
