{#- The lower end of a published date or time. -#}
{%- import 'read/form.sql' as form -%}
{{ form.as_moment(form.low_text(sql('published'), form.moment)) }}
