{#- The lower end of a published number. -#}
{%- import 'read/form.sql' as form -%}
{{ form.as_number(form.low_text(sql('published'), form.number)) }}
