{#- Whether a published text can represent a value: the value itself, *, an interval with it, or a mask such as 021**.
    -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'table_functions/covering.sql' import covering -%}
{{ covering() }}
