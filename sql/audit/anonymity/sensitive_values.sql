{#- value_n (class_id, value) of each model n. -#}
{%- from 'audit/anonymity/column_values.sql' import places, value with context -%}
{% for m in models %}
{% if m.order %}
-- A row a value: where it stands among the others, for the distance of two distributions.
places_{{ m.number }} AS MATERIALIZED ({{ places(m, sensitive[m.sensitive]) }}),
{% endif %}
-- A row a class: what the model measures of it.
value_{{ m.number }} AS MATERIALIZED ({{ value(m) }}){% if not loop.last %},{% endif %}
{% endfor %}
