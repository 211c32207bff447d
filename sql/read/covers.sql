{#- Whether a published text can stand for a value: the value itself, *, an interval with it, or a mask such as 021**. -#}
{%- import 'read/form.sql' as form -%}
{%- from 'read/covering.sql' import covering -%}
{{ covering() }}
