{#- The lower end of a published date or time. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{% set days %}{{ form.in_days(form.text_of(sql('published'))) }}{% endset %}
{{ form.as_moment(form.low_text(days, form.moment)) }}
