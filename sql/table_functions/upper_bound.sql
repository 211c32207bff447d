{#- The upper end of a published number. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
coalesce({{ form.as_number(form.high_text(sql('published'), form.number)) }}, {{ form.foreign_high(sql('published')) }})
