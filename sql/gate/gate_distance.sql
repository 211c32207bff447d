{#- The distance of two ends or values by the gate's own formula, and where it finds the ends of a class. -#}
{% macro apart(type, high, low) -%}
    {%- if type in ('TIMESTAMP', 'TIME') -%} (epoch_us({{ high }})::HUGEINT - epoch_us({{ low }})::HUGEINT)::DOUBLE
    {%- elif type == 'DATE' -%} ({{ high }} - {{ low }})::DOUBLE
    {%- else -%} ({{ high }}::HUGEINT - {{ low }}::HUGEINT)::DOUBLE {%- endif -%}
{%- endmacro %}
{% macro ends(r, end) -%}
    {%- if typed -%} v.{{ end|of(r) }} {%- else -%} a.{{ sql(end) }} {%- endif -%}
{%- endmacro %}
