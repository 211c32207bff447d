{#- Whether an interval of a class (c, its text parsed as t) reaches further than the least and greatest value (f) that
    had arrived when the class was first published: further than the grid, top and bottom put its ends. -#}
{% macro reaches_beyond(r) -%}
    {%- set low = sql('c.', 'low'|of(r)) if typed else sql('allowed'|of(r), '.low') -%}
    {%- set high = sql('c.', 'high'|of(r)) if typed else sql('allowed'|of(r), '.high') -%}
    coalesce({{ is_below(r, low, limited(r, sql('f.', 'least'|of(r)))) }}, false) \
        OR coalesce({{ is_above(r, high, limited(r, sql('f.', 'greatest'|of(r)))) }}, false)
{%- endmacro %}
{#- A value as its end is published: not beyond top and bottom. -#}
{% macro limited(r, value) -%}
    {%- set day -%} {{ value }}{% if r.ends.whole_days %}::DATE{% endif %} {%- endset -%}
    {%- set low -%} {% if r.bottom %}greatest({{ day }}, {{ r.bottom }}){% else %}{{ day }}{% endif %} {%- endset -%}
    {%- if r.top %}least({{ low }}, {{ r.top }}){% else %}{{ low }}{% endif -%}
{%- endmacro %}
{#- Whether a lower end lies below the cell of a value. -#}
{% macro is_below(r, low, value) -%}
    {%- if r.grid.unit and r.grid.unit != 'day' -%} TRY({{ low }} + {{ length(r) }}) <= {{ value }}
    {%- elif r.grid.step and r.is_float -%} {{ low }}::DOUBLE + {{ r.grid.step }} * (1 + 1e-9) \
        + {{ r.relative_error }} * abs({{ low }}::DOUBLE) < {{ value }}::DOUBLE
    {%- elif r.grid.step -%} TRY({{ low }} + {{ r.grid.step }}) <= {{ value }}
    {%- else -%} {{ low }} < {{ value }} {%- endif -%}
{%- endmacro %}
{#- Whether an upper end lies above the cell of a value. That of a decimal number begins the next cell. -#}
{% macro is_above(r, high, value) -%}
    {%- if r.grid.unit and r.grid.unit != 'day' -%} TRY({{ high }} + 1 - {{ length(r) }}) > {{ value }}
    {%- elif r.grid.step and r.is_float -%} {{ high }}::DOUBLE - {{ r.grid.step }} * (1 + 1e-9) \
        - {{ r.relative_error }} * abs({{ high }}::DOUBLE) > {{ value }}::DOUBLE
    {%- elif r.grid.step and r.is_whole -%} TRY({{ high }} - {{ r.grid.step }}) >= {{ value }}
    {%- elif r.grid.step -%} TRY({{ high }} - {{ r.grid.step }}) > {{ value }}
    {%- else -%} {{ high }} > {{ value }} {%- endif -%}
{%- endmacro %}
{#- The length of an interval of the calendar. -#}
{% macro length(r) -%}
    {%- if r.grid.unit == 'week' -%} to_days(7)
    {%- elif r.grid.unit == 'month' -%} to_months(1)
    {%- elif r.grid.unit == 'quarter' -%} to_months(3)
    {%- elif r.grid.unit == 'year' -%} to_months(12)
    {%- elif r.grid.unit == 'decade' -%} to_months(120)
    {%- else -%} to_months(1200) {%- endif -%}
{%- endmacro %}
