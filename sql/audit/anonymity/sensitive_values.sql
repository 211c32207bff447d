{#- class_values (number, class_id, value): what each model measures of each class. -#}
{%- from 'audit/anonymity/column_values.sql' import places, value with context -%}
{% for m in models if m.order %}
-- One row per sensitive value: its place in the order of the values, for distances of distributions.
{{ ('places for ' ~ m.name)|of(m) }} AS MATERIALIZED (
{{ places(m) }}
),
{% endfor %}
-- One row per model and class: the value that the class achieves.
class_values AS MATERIALIZED (
    {% for m in models %}
{{ value(m) }}
    {% if not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
)
