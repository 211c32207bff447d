{#- The middle of a published date or time. -#}
{%- import 'functions/form.sql' as form -%}
{% set days %}{{ form.in_days(form.text_of(sql('published'))) }}{% endset %}
make_timestamp(
    (
        {{ form.begins(form.low_text(days, form.moment)) }}
        + {{ form.begins(form.high_text(days, form.moment)) }}
    ) // 2
)
