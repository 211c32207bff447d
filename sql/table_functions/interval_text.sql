{#- The parts of published values: the text of a number, a date, a time or an interval as
    sql/release/plan/number_column.sql writes them, an interval of a hierarchy (`[20, 25)`), or the text of a struct
    {'low': 25, 'high': 29}. There is one pattern for each, anchored at both ends, whose groups are the ends; a text of
    another form has no ends. -#}

{#- Digits as DuckDB writes them. 02138 is no number: zip codes must not be taken for one. -#}
{% set number %}-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?{% endset %}
{% set clock %}[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?{% endset %}
{% set day %}[0-9]{4,7}-[0-9]{2}-[0-9]{2}(?: \(BC\))?{% endset %}
{% set moment %}(?:{{ day }}(?: {{ clock }})?|{{ clock }}){% endset %}
{% set unit %}[0-9]{4}(?:-(?:0[1-9]|1[0-2]|Q[1-4]))?{% endset %}
{#- Whether a published date is one of months, quarters and years: `2020-03`, `[1926, 1934]`. -#}
{% macro is_in_units(text) -%}
    regexp_full_match({{ text }}, '(?:>=|<=)?{{ unit }}|\[(?:<=)?{{ unit }}, (?:>=)?{{ unit }}\]')
{%- endmacro %}
{#- A published date or time with the days of its months, quarters and years, other texts as they are: earlier releases
    have days, and both are read in the same way. `[1926, 1934]` is also what a column of numbers publishes: use this
    only for other columns. -#}
{% macro in_days(text) -%}
    CASE
        WHEN NOT {{ is_in_units(text) }} THEN {{ text }}
        WHEN starts_with({{ text }}, '<') THEN {{ low_day(text, true) }}
        WHEN starts_with({{ text }}, '>') THEN {{ high_day(text, true) }}
        ELSE '[' || {{ low_day(text, true) }} || ', ' || {{ high_day(text, true) }} || ']'
    END
{%- endmacro %}
{#- The first and the last day of such a text. An open end is its bound, of `<=1930` the last day, of `>=1990` the
    first. -#}
{% macro low_day(text, signed) -%}
    {% set token %}regexp_extract({{ text }}, '[0-9Q-]+'){% endset %}
    CASE
        WHEN contains({{ text }}, '<=') THEN {% if signed %}'<=' || {% endif %}{{ last_day(token) }}
        ELSE {{ first_day(token) }}
    END
{%- endmacro %}
{% macro high_day(text, signed) -%}
    {% set token %}regexp_extract({{ text }}, '([0-9Q-]+)\]?$', 1){% endset %}
    CASE
        WHEN contains({{ text }}, '>=') THEN {% if signed %}'>=' || {% endif %}{{ first_day(token) }}
        ELSE {{ last_day(token) }}
    END
{%- endmacro %}
{#- The first and the last day of a month, a quarter or a year, as texts. -#}
{% macro first_day(token) -%}
    left(replace(replace(replace(replace({{ token }}, 'Q1', '01'), 'Q2', '04'), 'Q3', '07'), 'Q4', '10') || '-01-01', \
        10)
{%- endmacro %}
{% macro last_day(token) -%}
    last_day(TRY_CAST(
                    left(
                        replace(replace(replace(replace({{ token }}, 'Q1', '03'), 'Q2', '06'), 'Q3', '09'), 'Q4', '12')
                        || '-12', 7) || '-01' AS DATE))::VARCHAR
{%- endmacro %}
{#- The groups of the form that a text has, one after another: those of the other forms are empty. Empty if it has none
    of the forms. -#}
{% macro taken(value, forms) -%}
    regexp_replace(CAST({{ value }} AS VARCHAR), '(?s)^(?:{{ forms }})$|^.*$', '\1\2\3')
{%- endmacro %}
{#- The texts of the strict ends: an open end is none. -#}
{% macro low_text(value, token) -%}
    {% set forms %}(?:>=)?({{ token }})|\[({{ token }}), (?:>=)?{{ token }}[\])]|\{''low'': ''?({{ token }})''?, \
        ''high'': ''?{{ token }}''?\}{% endset %}
    {{ taken(value, forms) }}
{%- endmacro %}
{% macro high_text(value, token) -%}
    {% set forms %}(?:<=)?({{ token }})|\[(?:<=)?{{ token }}, ({{ token }})[\])]|\{''low'': ''?{{ token }}''?, \
        ''high'': ''?({{ token }})''?\}{% endset %}
    {{ taken(value, forms) }}
{%- endmacro %}
{#- The same ends, with the bound in place of an open end, as in top and bottom coding. -#}
{% macro coded_low(value, token) -%}
    {% set forms %}(?:>=|<=)?({{ token }})|\[(?:<=)?({{ token }}), (?:>=)?{{ token }}[\])]|\{''low'': \
        ''?({{ token }})''?, ''high'': ''?{{ token }}''?\}{% endset %}
    {{ taken(value, forms) }}
{%- endmacro %}
{% macro coded_high(value, token) -%}
    {% set forms %}(?:>=|<=)?({{ token }})|\[(?:<=)?{{ token }}, (?:>=)?({{ token }})[\])]|\{''low'': \
        ''?{{ token }}''?, ''high'': ''?({{ token }})''?\}{% endset %}
    {{ taken(value, forms) }}
{%- endmacro %}
{#- The texts of the ends of a number as other tools write it: `[20, 30[`, `]20, 30]`, `(20, 30]`, `20-29`, `65+`,
    `>64`, `<18`. -#}
{% macro foreign_low_text(value) -%}
    {% set forms %}[\[\](]({{ number }})[,;] ?{{ number }}[\[\])]|({{ number }}) ?[-–] ?{{ number }}|(?:>=?|≥) \
        ?({{ number }})|({{ number }}) ?\+{% endset %}
    regexp_replace(CAST({{ value }} AS VARCHAR), '(?s)^(?:{{ forms }})$|^.*$', '\1\2\3\4')
{%- endmacro %}
{% macro foreign_high_text(value) -%}
    {% set forms %}[\[\](]{{ number }}[,;] ?({{ number }})[\[\])]|{{ number }} ?[-–] ?({{ number }})|(?:<=?|≤) \
        ?({{ number }}){% endset %}
    regexp_replace(CAST({{ value }} AS VARCHAR), '(?s)^(?:{{ forms }})$|^.*$', '\1\2\3')
{%- endmacro %}
{#- The low, the high end and the middle of a number in such a form. NULL where the low end is above the high one:
    `2020-03` is no range. -#}
{% macro foreign_low(value) -%}
    {% set low %}{{ as_number(foreign_low_text(value)) }}{% endset %}
    CASE WHEN {{ as_number(foreign_high_text(value)) }} < {{ low }} THEN NULL ELSE {{ low }} END
{%- endmacro %}
{% macro foreign_high(value) -%}
    {% set high %}{{ as_number(foreign_high_text(value)) }}{% endset %}
    CASE WHEN {{ high }} < {{ as_number(foreign_low_text(value)) }} THEN NULL ELSE {{ high }} END
{%- endmacro %}
{#- Of an argument, whose type a macro does not know: whether it is an instant, its microseconds since 1970 in UTC, and
    its text, of an instant that of the TIMESTAMP in UTC. They are read from a text, because a cast of other types would
    not be bound. -#}
{% macro is_instant(value) -%} typeof({{ value }}) = 'TIMESTAMP WITH TIME ZONE' {%- endmacro %}
{% macro instant_us(value) -%} epoch_us(TRY_CAST(CAST({{ value }} AS VARCHAR) AS TIMESTAMPTZ)) {%- endmacro %}
{#- The text by which hierarchies know a value: of an instant, that in UTC (2020-01-01 00:00:00+00). -#}
{% macro label_of(value) -%}
    CASE
        WHEN {{ is_instant(value) }} THEN coalesce(
            CAST(make_timestamp({{ instant_us(value) }}) AS VARCHAR) || '+00', CAST({{ value }} AS VARCHAR)
        )
        ELSE CAST({{ value }} AS VARCHAR)
    END
{%- endmacro %}
{% macro text_of(value) -%}
    CASE
        WHEN {{ is_instant(value) }} THEN CAST(make_timestamp({{ instant_us(value) }}) AS VARCHAR)
        ELSE CAST({{ value }} AS VARCHAR)
    END
{%- endmacro %}
{#- The ends' texts as values. A time of day is one of 1970-01-01. -#}
{% macro as_number(token) -%} TRY_CAST({{ token }} AS DOUBLE) {%- endmacro %}
{% macro as_moment(token) -%}
    TRY_CAST(regexp_replace({{ token }}, '^([0-9]{2}:)', '1970-01-01 \1') AS TIMESTAMP)
{%- endmacro %}
{#- Microseconds at which a moment begins, and at which it ends: a day has `length` of them. -#}
{% macro begins(token) -%} epoch_us({{ as_moment(token) }}) {%- endmacro %}
{% macro ends_at(token, length) -%}
    (epoch_us({{ as_moment(token) }}) + CASE WHEN contains({{ token }}, ':') THEN 0 ELSE {{ length }} END)
{%- endmacro %}
{#- Of a text of one of these forms: whether it is one, and its first and last value. -#}
{% macro has_form(value, token) -%}
    regexp_full_match({{ value }}, \
        '(?:>=|<=)?{{ token }}|\[(?:<=)?{{ token }}, (?:>=)?{{ token }}[\])]|\{''low'': ''?{{ token }}''?, ''high'': \
            ''?{{ token }}''?\}')
{%- endmacro %}
{% macro first(value, token) -%} regexp_extract({{ value }}, '^[^-.0-9]*({{ token }})', 1) {%- endmacro %}
{% macro last(value, token) -%} regexp_extract({{ value }}, '({{ token }})[\])''}]*$', 1) {%- endmacro %}
