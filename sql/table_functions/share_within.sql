{#- The share of a published interval that is in [low, high]. Whole numbers and days are counted, others measured.
    What is computed from the text is outside of CASE, where DuckDB computes equal expressions once; generated columns
    allow neither lambda nor subquery. Halves are subtracted, because a difference may exceed the range of a DOUBLE. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{% set text %}{{ form.text_of(sql('published')) }}{% endset %}
{% set from_text %}{{ form.text_of(sql('low')) }}{% endset %}
{% set to_text %}{{ form.text_of(sql('high')) }}{% endset %}
{# a and b: the published ends, c and d: the given ones; least and greatest ignore NULL, division by NULL does not. #}
{% macro share(a, b, c, d, step, c_inner, d_inner) -%}
    coalesce(
        greatest(0, least({{ b }} / 2, {{ d_inner }} / 2) - greatest({{ a }} / 2, {{ c_inner }} / 2) + {{ step }} / 2)
            / nullif(
                ({{ c }} <= {{ c }} AND {{ d }} <= {{ d }})::INTEGER
                    * greatest(({{ b }} / 2 - {{ a }} / 2) + {{ step }} / 2, 0),
                0
            ),
        ({{ c }} <= {{ a }})::DOUBLE * ({{ a }} <= {{ d }})::INTEGER / nullif(({{ a }} = {{ b }})::INTEGER, 0)
    )
{%- endmacro %}
{% set a %}{{ form.as_number(form.coded_low(text, form.number)) }}{% endset %}
{% set b %}{{ form.as_number(form.coded_high(text, form.number)) }}{% endset %}
{% set c %}{{ form.as_number(from_text) }}{% endset %}
{% set d %}{{ form.as_number(to_text) }}{% endset %}
{% set whole %}(NOT regexp_matches({{ text }}, '[.e)]')){% endset %}
{% set days %}{{ form.in_days(text) }}{% endset %}
coalesce(
    {{ share(
        a, b, c, d, sql(whole, '::INTEGER'),
        sql('CASE WHEN ', whole, ' THEN ceil(', c, ') ELSE ', c, ' END'),
        sql('CASE WHEN ', whole, ' THEN floor(', d, ') ELSE ', d, ' END')
    ) }},
    {% set a %}{{ form.begins(form.coded_low(days, form.moment)) }}{% endset %}
    {% set b %}{{ form.ends_at(form.coded_high(days, form.moment), 86400000000) }}{% endset %}
    {% set c %}{{ form.begins(from_text) }}{% endset %}
    {% set d %}{{ form.ends_at(to_text, 86400000000) }}{% endset %}
    {{ share(a, b, c, d, 0, c, d) }}
)
