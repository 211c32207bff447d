{#- value_n (class_id, value) of each model n. -#}
{%- from 'audit/anonymity/value.sql' import places, value with context -%}
{% for m in models %}
{% if m.order %}
places_{{ m.number }} AS MATERIALIZED ({{ places(m, sensitive[m.sensitive]) }}),
{% endif %}
value_{{ m.number }} AS MATERIALIZED ({{ value(m) }}){% if not loop.last %},{% endif %}
{% endfor %}
