{#- Whether the value of a class is enough for a model. -#}
{% macro met(m) -%}
    value
    {%- if m.higher %} >= {{ m.bound }} - 1e-9
    {%- elif m.strict %} < {{ m.bound }}
    {%- else %} <= {{ m.bound }} + 1e-9 {%- endif %}
{%- endmacro %}
