{#- The lower end of a published number. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
coalesce({{ form.as_number(form.low_text(sql('published'), form.number)) }}, {{ form.foreign_low(sql('published')) }})
