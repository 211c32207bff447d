{#- The body of covers(published, value): NULL if either is NULL. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{% set text %}CAST(published AS VARCHAR) COLLATE POSIX{% endset %}
{% set asked %}CAST(value AS VARCHAR) COLLATE POSIX{% endset %}
{% set instant %}{{ form.instant_us(sql('value')) }}{% endset %}
{% set leaf %}(CAST(make_timestamp({{ instant }}) AS VARCHAR) || '+00'){% endset %}
{% macro covering() %}
CASE
    WHEN published IS NULL OR value IS NULL THEN NULL
    WHEN {{ text }} IN ({{ asked }}, '*', '\' || {{ asked }}) THEN true
    {# An instant: the text of a leaf names it in a time zone, other texts are in UTC. #}
    WHEN {{ form.is_instant(sql('value')) }} THEN coalesce(
        ({{ form.has_form(text, form.moment) }} AND {{ within(
            form.begins(form.first(text, form.moment)), form.ends_at(form.last(text, form.moment), 86399999999),
            instant, instant
        ) }})
        OR ({{ form.is_in_units(text) }} AND {{ within(
            form.begins(form.low_day(text, false)), form.ends_at(form.high_day(text, false), 86399999999),
            instant, instant
        ) }})
        OR (
            regexp_full_match({{ text }}, '.*:.*[+-][0-9:]+')
            AND epoch_us(TRY_CAST({{ text }} AS TIMESTAMPTZ)) = {{ instant }}
        )
        OR (
            ends_with({{ text }}, '*') AND starts_with({{ leaf }}, rtrim({{ text }}, '*'))
        ),
        false
    )
    WHEN ends_with({{ text }}, '*') THEN starts_with({{ asked }}, rtrim({{ text }}, '*'))
    {# Most texts are none of these, and a pattern takes long. #}
    WHEN NOT ({{ text }})[1] BETWEEN '-' AND '9' AND ({{ text }})[1] NOT IN ('[', '>', '<', '{') THEN false
    WHEN regexp_full_match({{ asked }}, '{{ form.number }}') AND {{ form.has_form(text, form.number) }} THEN {{ within(
        form.as_number(form.first(text, form.number)), form.as_number(form.last(text, form.number)),
        form.as_number(asked), form.as_number(asked)
    ) }}
    WHEN regexp_full_match({{ asked }}, '{{ form.moment }}') AND {{ form.has_form(text, form.moment) }} THEN {{ within(
        form.begins(form.first(text, form.moment)), form.ends_at(form.last(text, form.moment), 86399999999),
        form.begins(asked), form.ends_at(asked, 86399999999)
    ) }}
    WHEN regexp_full_match({{ asked }}, '{{ form.moment }}') AND {{ form.is_in_units(text) }} THEN {{ within(
        form.begins(form.low_day(text, false)), form.ends_at(form.high_day(text, false), 86399999999),
        form.begins(asked), form.ends_at(asked, 86399999999)
    ) }}
    ELSE false
END
{% endmacro %}
{% macro within(low, high, begins, finishes) -%}
    coalesce(
        (starts_with({{ text }}, '<=') OR starts_with({{ text }}, '[<=') OR {{ begins }} >= {{ low }})
        AND CASE
            WHEN regexp_matches({{ text }}, '(?:^|, )>=') THEN true
            WHEN starts_with({{ text }}, '[') AND ends_with({{ text }}, ')') THEN {{ finishes }} < {{ high }}
            ELSE {{ finishes }} <= {{ high }}
        END,
        false
    )
{%- endmacro %}
