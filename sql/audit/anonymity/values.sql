{#- value_n (class_id, value) of each model n. -#}
{%- from 'audit/anonymity/value.sql' import value with context -%}
{%- from 'models/model.sql' import cells_equal -%}
{% for s in sensitive %}
each_{{ s.i }} AS MATERIALIZED ({{ cells_equal(sql('overall_', s.i)) }}),
{% endfor %}
{% for m in models %}
value_{{ m.number }} AS MATERIALIZED ({{ value(m) }}){% if not loop.last %},{% endif %}
{% endfor %}
