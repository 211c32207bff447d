{#- The middle of a published date or time. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{% set days %}{{ form.in_days(form.text_of(sql('published'))) }}{% endset %}
make_timestamp(
    (
        {{ form.begins(form.low_text(days, form.moment)) }}
        + {{ form.begins(form.high_text(days, form.moment)) }}
    ) // 2
)
