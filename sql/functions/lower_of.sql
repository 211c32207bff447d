{#- The lower end of a published number. -#}
{%- import 'functions/form.sql' as form -%}
{{ form.as_number(form.low_text(sql('published'), form.number)) }}
