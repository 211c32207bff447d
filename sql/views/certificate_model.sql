{#- certificate(): what a release achieves by one privacy model, from its published rows alone. -#}
{%- import 'models/model.sql' as model -%}
WITH held AS (
    SELECT row({{ part }}) AS class_id, {{ value }} AS value, count(*) AS size FROM {{ release }} GROUP BY ALL
),
body AS (SELECT class_id, sum(size)::BIGINT AS size FROM held GROUP BY class_id),
overall AS (SELECT value, sum(size)::BIGINT AS size FROM held GROUP BY value),
{% if cells %}
{# Where the values that occur stand in their hierarchy. #}
{% if kind == 'ordered' %}spot (value, place){% else %}spot (value, cell, weight){% endif %} AS (VALUES {{ cells }}),
cell AS (
    SELECT o.value, {% if kind == 'ordered' %}s.place{% else %}s.cell, s.weight{% endif %}
    FROM overall AS o
    JOIN spot AS s ON s.value IS NOT DISTINCT FROM CAST(o.value AS VARCHAR) COLLATE POSIX
),
{% elif kind == 'ordered' %}
cell AS (SELECT value, row_number() OVER (ORDER BY value ASC NULLS LAST) AS place FROM overall),
{% elif kind == 'equal' %}
cell AS ({{ model.cells_equal(sql('overall')) }}),
{% endif %}
judged AS (
    {% if kind == 'distinct' %}{{ model.distinct_values(sql('held'), sql('body')) }}
    {% elif kind == 'entropy' %}{{ model.entropy(sql('held'), sql('body')) }}
    {% elif kind == 'recursive' %}{{ model.recursive(sql('held'), sql('body'), extra) }}
    {% elif kind == 'share' %}{{ model.greatest_share(sql('held'), sql('body')) }}
    {% elif kind in ('gain', 'enhanced') %}{{ model.greatest_gain(sql('held'), sql('body'), sql('overall'), kind == 'enhanced') }}
    {% elif kind == 'ordered' %}{{ model.mover_distance_ordered(sql('held'), sql('body'), sql('overall'), sql('cell')) }}
    {% else %}{{ model.mover_distance(sql('held'), sql('body'), sql('overall'), sql('cell')) }}
    {% endif %}
)
SELECT {% if kind in ('distinct', 'entropy') %}min{% else %}max{% endif %}(value) FROM judged
