{#- How published values are read back: the text of a number, a date, a time or an interval as sql/release/part/number.sql writes
    them, an interval of a hierarchy (`[20, 25)`), or the text of a struct {'low': 25, 'high': 29}.
    One pattern each, anchored at both ends, whose groups are the ends; what has another form has no ends. -#}

{#- Digits as DuckDB writes them. 02138 is no number: zip codes must not be taken for one. -#}
{% set number %}-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]+)?|\.[0-9]+)(?:e[+-]?[0-9]+)?{% endset %}
{% set clock %}[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?{% endset %}
{% set day %}[0-9]{4,7}-[0-9]{2}-[0-9]{2}(?: \(BC\))?{% endset %}
{% set moment %}(?:{{ day }}(?: {{ clock }})?|{{ clock }}){% endset %}
{#- The strict ends: an open end is none. Groups point, ge, le, low, high, slow, shigh. -#}
{% macro ends(value, token) -%}
    regexp_extract(CAST({{ value }} AS VARCHAR), '^(?:({{ token }})|>=({{ token }})|<=({{ token }})|\[(?:<={{ token }}|({{ token }})), (?:>={{ token }}|({{ token }}))[\])]|\{''low'': ''?({{ token }})''?, ''high'': ''?({{ token }})''?\})$', ['point', 'ge', 'le', 'low', 'high', 'slow', 'shigh'])
{%- endmacro %}
{% macro low_text(value, token) -%}
    (({{ ends(value, token) }}).point || ({{ ends(value, token) }}).ge || ({{ ends(value, token) }}).low || ({{ ends(value, token) }}).slow)
{%- endmacro %}
{% macro high_text(value, token) -%}
    (({{ ends(value, token) }}).point || ({{ ends(value, token) }}).le || ({{ ends(value, token) }}).high || ({{ ends(value, token) }}).shigh)
{%- endmacro %}
{#- The same where an open end is its bound, as top and bottom coding mean it. -#}
{% macro coded(value, token) -%}
    regexp_extract(CAST({{ value }} AS VARCHAR), '^(?:(?:>=|<=)?({{ token }})|\[(?:<=)?({{ token }}), (?:>=)?({{ token }})[\])]|\{''low'': ''?({{ token }})''?, ''high'': ''?({{ token }})''?\})$', ['point', 'low', 'high', 'slow', 'shigh'])
{%- endmacro %}
{% macro coded_low(value, token) -%}
    (({{ coded(value, token) }}).point || ({{ coded(value, token) }}).low || ({{ coded(value, token) }}).slow)
{%- endmacro %}
{% macro coded_high(value, token) -%}
    (({{ coded(value, token) }}).point || ({{ coded(value, token) }}).high || ({{ coded(value, token) }}).shigh)
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
    regexp_full_match({{ value }}, '(?:>=|<=)?{{ token }}|\[(?:<=)?{{ token }}, (?:>=)?{{ token }}[\])]|\{''low'': ''?{{ token }}''?, ''high'': ''?{{ token }}''?\}')
{%- endmacro %}
{% macro first(value, token) -%} regexp_extract({{ value }}, '^[^-.0-9]*({{ token }})', 1) {%- endmacro %}
{% macro last(value, token) -%} regexp_extract({{ value }}, '({{ token }})[\])''}]*$', 1) {%- endmacro %}
