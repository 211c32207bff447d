{#- The upper end of a published number. -#}
{%- import 'functions/form.sql' as form -%}
{{ form.as_number(form.high_text(sql('published'), form.number)) }}
