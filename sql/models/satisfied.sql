{#- Whether the value of a class is enough for a model. -#}
{% macro met(m) -%}
    value
    {%- if m.kind in ('distinct', 'entropy') %} >= {{ m.bound }} - 1e-9
    {%- elif m.kind == 'recursive' %} < {{ m.bound }}
    {%- else %} <= {{ m.bound }} + 1e-9 {%- endif %}
{%- endmacro %}
