{#- The lower end of a published date or time. -#}
{%- import 'functions/form.sql' as form -%}
{% set days %}{{ form.in_days(form.text_of(sql('published'))) }}{% endset %}
{{ form.as_moment(form.low_text(days, form.moment)) }}
