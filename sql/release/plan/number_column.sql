{#- Numbers, dates and times: how far apart two values are, where interval ends snap to, and their text. -#}
{%- from 'shared/small_relation_hint.sql' import few, end_few -%}
{#- Distance of two values of a column, the greater one first, as DOUBLE, in the smallest step of its type. -#}
{% macro gap(q, high, low) -%} {{ q.family.gap|filled(high=high, low=low, wide=q.decimal_type, scale=q.scale) }} \
    {%- endmacro %}

{#- The text of a value whose position is not exact as DOUBLE, else NULL. -#}
{% macro exact_text(q) -%}
    CASE WHEN {{ q.family.is_inexact|filled(position=sql('position'), value=sql('value')) }} \
        THEN {{ q.family.exact|filled(value=sql('value'), wide=q.decimal_type) }} END
{%- endmacro %}

{#- The same distance for two published ends. -#}
{% macro width(q, high, low) -%}
    {%- if q.ends.is_day -%} ({{ high }} - {{ low }})::DOUBLE {%- else -%} {{ gap(q, high, low) }} {%- endif -%}
{%- endmacro %}

{#- The value that lies a distance (see gap) from the least value of the column; one that its type does not have is the
    nearest end of the column. -#}
{% macro value_at(q, low, high, distance) -%}
    coalesce(
        TRY({{ q.family.moved|filled(low=low, distance=distance, type=q.type, wide=q.decimal_type, scale=q.scale) }}),
        CASE WHEN {{ distance }} < 0 THEN {{ low }} ELSE {{ high }} END
    )
{%- endmacro %}

{#- A value with top and bottom coding applied. -#}
{% macro coded(q, value) -%}
    {%- set low -%} {%- if q.bottom -%} greatest({{ value }}, \
        {{ q.bottom }}) {%- else -%} {{ value }} {%- endif -%} {%- endset -%}
    {%- if q.top -%} CASE WHEN {{ value }} IS NOT NULL THEN least({{ low }}, {{ q.top }}) END
    {%- elif q.bottom -%} CASE WHEN {{ value }} IS NOT NULL THEN {{ low }} END
    {%- else -%} {{ value }} {%- endif -%}
{%- endmacro %}

{#- The published lower and upper end of an interval: snapped outward to the grid, coded at top and bottom. A coded
    value stays there, wherever the grid has its multiples: [<=10, 19] would be read as up to 19. -#}
{% macro low_end(q, value) -%}
    {%- set low -%} {%- if q.bottom -%} greatest({{ snapped_low(q, value) }}, \
        {{ q.bottom }}) {%- else -%} {{ snapped_low(q, value) }} {%- endif -%} {%- endset -%}
    {%- if q.top and q.grid.step -%} CASE WHEN {{ value }}{% if q.ends.is_day %}::DATE{% endif %} >= {{ q.top }} \
        THEN {{ q.top }} ELSE {{ low }} END {%- else -%} {{ low }} {%- endif -%}
{%- endmacro %}

{% macro high_end(q, value) -%}
    {%- set high -%} {%- if q.top -%} least({{ snapped_high(q, value) }}, \
        {{ q.top }}) {%- else -%} {{ snapped_high(q, value) }} {%- endif -%} {%- endset -%}
    {%- if q.bottom and q.grid.step -%} CASE WHEN {{ value }}{% if q.ends.is_day %}::DATE{% endif %} <= {{ q.bottom }} \
        THEN {{ q.bottom }} ELSE {{ high }} END {%- else -%} {{ high }} {%- endif -%}
{%- endmacro %}

{#- An end that lies beyond its type is the limit of the type. -#}
{% macro snapped_low(q, value) -%}
    {%- if q.grid.step -%}
    {%- set day -%} {%- if q.family.is_calendar -%} {{ first_day(q, value) }} {%- endif -%} {%- endset -%}
    {{ q.family.low_end|filled(value=value, end_type=q.ends.type, grid=q.grid.step, units=q.grid.units, \
        parts=q.grid.parts, least=q.ends.min_value, greatest=q.ends.max_value, rest=rest(q, value), first_day=day) }}
    {%- else -%} {{ value }} {%- endif -%}
{%- endmacro %}

{% macro snapped_high(q, value) -%}
    {%- if q.grid.step -%}
    {%- set day -%} {%- if q.family.is_calendar -%} {{ last_day(q, value) }} {%- endif -%} {%- endset -%}
    {{ q.family.high_end|filled(value=value, end_type=q.ends.type, grid=q.grid.step, units=q.grid.units, \
        parts=q.grid.parts, least=q.ends.min_value, greatest=q.ends.max_value, rest=rest(q, value), last_day=day) }}
    {%- else -%} {{ value }} {%- endif -%}
{%- endmacro %}

{#- The distance of an exact number from the greatest multiple of the grid that is not above it. -#}
{% macro rest(q, value) -%}
    {%- set over -%} (({{ value }})::{{ q.ends.type }} % {{ q.grid.step }}) {%- endset -%}
    {%- if q.type.startswith('U') -%} {{ over }} {%- else -%} CASE WHEN {{ over }} < 0 \
        THEN {{ over }} + {{ q.grid.step }} ELSE {{ over }} END {%- endif -%}
{%- endmacro %}

{#- First and last day of the week, or of the months, that a day is in. Months are counted from a year so early that
    none has a negative number. -#}
{% macro day(value) -%} ({{ value }})::DATE {%- endmacro %}
{% macro first_day(q, value) -%}
    {%- if q.grid.months == 12 -%} make_date(year({{ day(value) }}), 1, 1)
    {%- elif q.grid.months == 3 -%} make_date(year({{ day(value) }}), quarter({{ day(value) }}) * 3 - 2, 1)
    {%- elif q.grid.months == 1 -%} make_date(year({{ day(value) }}), month({{ day(value) }}), 1)
    {%- elif q.grid.months -%} {{ month_start(block(q, value)) }}
    {%- elif q.grid.is_week -%} {{ day(value) }} - {{ weekday(value) }}
    {%- else -%} {{ day(value) }} {%- endif -%}
{%- endmacro %}
{% macro last_day(q, value) -%}
    {%- if q.grid.months == 12 -%} make_date(year({{ day(value) }}), 12, 31)
    {%- elif q.grid.months == 3 -%} last_day(make_date(year({{ day(value) }}), quarter({{ day(value) }}) * 3, 1))
    {%- elif q.grid.months == 1 -%} last_day({{ day(value) }})
    {%- elif q.grid.months -%} {{ month_start(sql('(', block(q, value), ' + ', q.grid.months, ')')) }} - 1
    {%- elif q.grid.is_week -%} {{ day(value) }} + (6 - {{ weekday(value) }})
    {%- else -%} {{ day(value) }} {%- endif -%}
{%- endmacro %}
{% macro weekday(value) -%} ((({{ day(value) }} - DATE '1970-01-01') + 7000000003) % 7)::INTEGER {%- endmacro %}
{% macro month_of(value) -%} (year({{ day(value) }}) * 12 + month({{ day(value) }}) + 95999999) {%- endmacro %}
{% macro block(q, value) -%} ({{ month_of(value) }} - {{ month_of(value) }} % {{ q.grid.months }}) {%- endmacro %}
{% macro month_start(month) -%} make_date({{ month }} // 12 - 8000000, {{ month }} % 12 + 1, 1) {%- endmacro %}

{#- The published text of an interval: `25`, `[25, 29]`, `[85, >=90]`, `<=18`. Of whole months, quarters or years it
    says these: `2020-03`, `[1926, 1934]`, `[1985, >=1990]`. -#}
{% macro interval_text(q, low, high) -%}
    {%- if q.grid.unit -%}
    CASE WHEN {{ is_whole(q, low, high) }} THEN {{ ends_text(q, low, high, true) }} \
        ELSE {{ ends_text(q, low, high, false) }} END
    {%- else -%} {{ ends_text(q, low, high, false) }} {%- endif -%}
{%- endmacro %}
{% macro ends_text(q, low, high, in_units) -%}
    {%- set from_text -%}
        {%- if q.bottom -%} CASE WHEN {{ low }} <= {{ q.bottom }} THEN '<=' || {{ said(q, q.bottom, in_units) }} \
            ELSE {{ said(q, low, in_units) }} END
        {%- else -%} {{ said(q, low, in_units) }} {%- endif -%}
    {%- endset -%}
    {%- set to_text -%}
        {%- if q.top -%} CASE WHEN {{ high }} >= {{ q.top }} THEN '>=' || {{ said(q, q.top, in_units) }} \
            ELSE {{ said(q, high, in_units) }} END
        {%- else -%} {{ said(q, high, in_units) }} {%- endif -%}
    {%- endset -%}
    CASE
        {%- if q.top %} WHEN {{ low }} >= {{ q.top }} THEN '>=' || {{ said(q, q.top, in_units) }} {% endif -%}
        {%- if q.bottom %} WHEN {{ high }} <= {{ q.bottom }} THEN '<=' || {{ said(q, q.bottom, in_units) }} {% endif %}
        WHEN {{ said(q, low, in_units) if in_units else low }} = {{ said(q, high, in_units) if in_units else high }} \
            THEN {{ said(q, low, in_units) }}
        ELSE '[' || {{ from_text }} || ', ' || {{ to_text }} || ']'
    END
{%- endmacro %}
{#- The text of an end: of a day, or of the unit that it is in. -#}
{% macro said(q, end, in_units) -%}
    {%- if not in_units -%} {{ end }}::VARCHAR
    {%- elif q.grid.unit == 'year' -%} left({{ end }}::VARCHAR, 4)
    {%- elif q.grid.unit == 'quarter' -%} left({{ end }}::VARCHAR, 5) || 'Q' || quarter({{ end }})::VARCHAR
    {%- else -%} left({{ end }}::VARCHAR, 7) {%- endif -%}
{%- endmacro %}
{#- Whether both ends are those of units, in years of four digits. Of a coded end that is what lies beyond it, and at it
    where it is top: `<=1930` is up to 1930-12-31, `>=1990` from 1990-01-01. -#}
{% macro is_whole(q, low, high) -%}
    {%- set from_day -%} {%- if q.bottom -%} CASE WHEN {{ low }} <= {{ q.bottom }} THEN TRY({{ q.bottom }} + 1) \
        ELSE {{ low }} END {%- else -%} {{ low }} {%- endif -%} {%- endset -%}
    {%- set to_day -%} {%- if q.top -%} CASE WHEN {{ high }} >= {{ q.top }} THEN {{ q.top }} \
        ELSE TRY({{ high }} + 1) END {%- else -%} TRY({{ high }} + 1) {%- endif -%} {%- endset -%}
    ({{ low }} >= DATE '0001-01-01' AND {{ high }} <= DATE '9999-12-31' AND {{ begins_unit(q, from_day) }} \
        AND {{ begins_unit(q, to_day) }})
{%- endmacro %}
{% macro begins_unit(q, day) -%}
    day({{ day }}) = 1{% if q.grid.unit == 'year' %} AND month({{ day }}) = 1\
        {% elif q.grid.unit == 'quarter' %} AND month({{ day }}) % 3 = 1{% endif %}
{%- endmacro %}

{#- Whether a cluster is published with its values: none of them is NULL, or NULL may be one of them. -#}
{% macro has_values(of, q) -%} {{ of }}{{ column_step('filled', q) }} {% if maybe %}> 0\
    {% else %}= {{ of }}size{% endif %}{% if widens %} AND {{ of }}{{ column_step('raised', q) }} \
    <> -2{% endif %} {%- endmacro %}
{#- The name of what is derived from a column; without one, in a relation with a row per column, the name alone. -#}
{% macro column_step(step, q) -%} {% if q %}{{ step|of(q) }}{% else %}{{ sql(step) }}{% endif %} {%- endmacro %}
{#- Whether one without is published as `*`: values among NULLs, or raised to everything. Otherwise it publishes NULL.
    -#}
{% macro is_star(of, q) -%} {% if widens %}({{ of }}{{ column_step('filled', q) }} > 0 \
    OR {{ of }}{{ column_step('raised', q) }} = -2){% else %}{{ of }}{{ column_step('filled', q) }} \
    > 0{% endif %} {%- endmacro %}

{#- The published values of a cluster whose least and greatest codes are low and high, and its loss (KACPC paper, Eq.
    1, first sum): the published width over the width of all published values. Values that no reader sees, of records
    that are suppressed, dropped or under `*`, do not count: the loss would reveal them. -#}
{% macro published_intervals(q) %}
{% if is_wide %}
-- One row per quasi-identifier and pair of least and greatest code, of all columns with the type and settings of
-- {{ q.raw_name|comment }}: the bounds of the published interval, and its text.
{% else %}
-- One row per pair of least and greatest code: the bounds of the published interval, which the policy may widen, and
-- its text.
{% endif %}
{{ 'intervals'|of(q) }} AS MATERIALIZED (
    {{ few() }}
    {% if without_losses is defined %}
    SELECT *{% if not typed %}, {{ interval_text(q, sql('low_value'), sql('high_value')) }} AS published{% endif +%}
    FROM (
        SELECT {% if is_wide %}p.attribute, {% endif %}p.low, p.high, {{ low_end(q, sql('a.value')) }} AS low_value, \
            {{ high_end(q, sql('b.value')) }} AS high_value
        FROM ({% if is_wide %}SELECT DISTINCT attribute, low, high \
            FROM span_columns{% else %}SELECT DISTINCT {{ 'low'|of(q) }} AS low, {{ 'high'|of(q) }} AS high \
            FROM span_ranges{% endif %}) AS p
        JOIN {{ 'domain'|of(q) }} AS a ON a.code = p.low{% if is_wide %} AND a.attribute = p.attribute{% endif +%}
        JOIN {{ 'domain'|of(q) }} AS b ON b.code = p.high{% if is_wide %} AND b.attribute = p.attribute{% endif +%}
    )
    {% else %}
    {% set by_column %}{% if is_wide %}PARTITION BY attribute{% endif %}{% endset %}
    SELECT
        pair.* EXCLUDE (seen_low, seen_high),
        {% if not typed %}{{ interval_text(q, sql('low_value'), sql('high_value')) }} AS published,{% endif %}
        coalesce({{ width(q, sql('high_value'), sql('low_value')) }} \
            / nullif({{ width(q, sql('seen_high'), sql('seen_low')) }}, 0), 0.0) AS loss
    FROM (
        SELECT *, min(low_value) FILTER (WHERE seen) OVER ({{ by_column }}) AS seen_low, \
            max(high_value) FILTER (WHERE seen) OVER ({{ by_column }}) AS seen_high
        FROM (
            SELECT {% if is_wide %}p.attribute, {% endif %}p.low, p.high, p.seen, \
                {{ low_end(q, sql('a.value')) }} AS low_value, {{ high_end(q, sql('b.value')) }} AS high_value
            FROM (
                {% if is_wide %}
                SELECT attribute, low, high, bool_or({{ has_values(sql(''), none) }}) AS seen
                FROM span_columns
                WHERE low IS NOT NULL
                {% else %}
                SELECT {{ 'low'|of(q) }} AS low, {{ 'high'|of(q) }} AS high, \
                    bool_or({{ has_values(sql(''), q) }}) AS seen
                FROM span_ranges
                WHERE {{ 'low'|of(q) }} IS NOT NULL
                {% endif %}
                GROUP BY ALL
            ) AS p
            JOIN {{ 'domain'|of(q) }} AS a ON a.code = p.low{% if is_wide %} AND a.attribute = p.attribute{% endif +%}
            JOIN {{ 'domain'|of(q) }} AS b ON b.code = p.high{% if is_wide %} AND b.attribute = p.attribute{% endif +%}
        )
    ) AS pair
    {% endif %}
    {{ end_few() }}
),
{% endmacro %}
