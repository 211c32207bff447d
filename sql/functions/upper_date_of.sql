{#- The upper end of a published date or time. -#}
{%- import 'functions/form.sql' as form -%}
{{ form.as_moment(form.high_text(sql('published'), form.moment)) }}
