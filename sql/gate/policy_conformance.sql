{#- Whether published values keep to the policy, which the gate reads again (dbanon/gate/rules.py): interval ends do not
    go beyond top and bottom and lie on the grid. -#}

{#- Whether an end that is no top or bottom lies between them and on the grid. -#}
{% macro keeps(r, end, is_low) -%}
    (
    {%- if r.bottom -%} {{ end }} > {{ r.bottom }} {%- endif -%}
    {%- if r.top -%} {% if r.bottom %} AND {% endif %}{{ end }} < {{ r.top }} {%- endif -%}
    {%- for grid in r.grid.checked -%} {% if r.bottom or r.top or not loop.first %} AND {% endif %}\
        ({{ at_edge(r, grid, end, is_low) }}{% for limit in (r.ends.min_value, r.ends.max_value) if limit %} \
        OR {{ end }} = {{ limit }}{% endfor %}) {%- endfor -%}
    {%- if not (r.bottom or r.top or r.grid.checked) -%} true {%- endif -%}
    )
{%- endmacro %}
{#- Whether the top and bottom of the call cut no cell of the declared grid. -#}
{% macro keeps_cells(r) -%}
    {%- if r.grid.declared %}{% for end in r.call_limits %} \
        AND ({{ at_edge(r, r.grid.declared, r[end], end == 'top') }}){% endfor %}{% endif -%}
{%- endmacro %}
{#- Whether a cell of a grid begins, or ends, with a value. -#}
{% macro at_edge(r, grid, end, is_low) -%}
    {%- if grid.unit -%}
        {%- set day -%} {%- if is_low -%} {{ end }} {%- else -%} TRY({{ end }} + 1) {%- endif -%} {%- endset -%}
        {%- if grid.unit == 'day' -%} true
        {%- elif grid.unit == 'week' -%} isodow({{ day }}) = 1
        {%- elif grid.unit == 'month' -%} day({{ day }}) = 1
        {%- elif grid.unit == 'quarter' -%} day({{ day }}) = 1 AND month({{ day }}) % 3 = 1
        {%- else -%} day({{ day }}) = 1 AND month({{ day }}) = 1
            {%- if grid.unit == 'decade' %} AND year({{ day }}) % 10 = 0\
                {% elif grid.unit == 'century' %} AND year({{ day }}) % 100 = 0{% endif -%}
        {%- endif -%}
    {%- elif r.is_whole -%}
        {%- if is_low -%} {{ end }} % {{ grid.step }} = 0 {%- else -%} TRY({{ end }} + 1) % {{ grid.step }} \
            = 0 {%- endif -%}
    {%- elif not r.is_float -%} {{ end }} % {{ grid.step }} = 0
    {%- else -%}
        {#- As far as numbers of this size can say so. #}
        NOT isfinite({{ end }}::DOUBLE / {{ grid.step }})
        OR abs({{ end }}::DOUBLE - round({{ end }}::DOUBLE / {{ grid.step }}) * {{ grid.step }}) <= 1e-9 \
            * {{ grid.step }} + {{ r.relative_error }} * abs({{ end }}::DOUBLE)
    {%- endif -%}
{%- endmacro %}
{#- For an end in text: `<=18` and `>=90` are open, and may represent more than bottom and top. Without bottom or top,
    an open end lies on the grid like any other. -#}
{% macro keeps_text(r, words, end, is_low) -%}
    {%- if r.bottom or r.top -%}
    CASE
        {% if r.bottom %}WHEN starts_with({{ words }}, '<=') THEN {{ end }} >= {{ r.bottom }}{% endif %}
        {% if r.top %}WHEN starts_with({{ words }}, '>=') THEN {{ end }} <= {{ r.top }}{% endif %}
        ELSE {{ keeps(r, end, is_low) }}
    END
    {%- else -%} {{ keeps(r, end, is_low) }} {%- endif -%}
    {{ keeps_cells(r) }}
{%- endmacro %}
{% macro keeps_typed(r, end, is_low) -%}
    CASE
        WHEN {{ end }} IS NULL THEN true
        {% if r.bottom %}WHEN {{ end }} = {{ r.bottom }} THEN true{% endif %}
        {% if r.top %}WHEN {{ end }} = {{ r.top }} THEN true{% endif %}
        ELSE {{ keeps(r, end, is_low) }}
    END{{ keeps_cells(r) }}
{%- endmacro %}
