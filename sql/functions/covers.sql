{#- Whether a published text can stand for a value: the value itself, *, an interval with it, or a mask such as 021**. -#}
{%- import 'functions/form.sql' as form -%}
{%- from 'functions/covering.sql' import covering -%}
{{ covering() }}
