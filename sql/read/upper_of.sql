{#- The upper end of a published number. -#}
{%- import 'read/form.sql' as form -%}
{{ form.as_number(form.high_text(sql('published'), form.number)) }}
