{#- Wide tables: values of many columns as rows, which the gate compares with one join instead of a join per column.
    Lists are unnested side by side: the numbers of the columns, their original values, and what is published for them.
    -#}
{% macro column_numbers(columns) -%} \
    unnest([{% for c in columns %}{{ c.i }}{{ sql(', ') if not loop.last }}{% endfor %}]) {%- endmacro %}
{% macro column_list(columns, of) -%} [\
    {% for c in columns %}{{ of }}{{ c.column }}{{ sql(', ') if not loop.last }}{% endfor %}] {%- endmacro %}
{% macro derived_list(columns, of, step) -%} [\
    {% for c in columns %}{{ of }}{{ step|of(c) }}{{ sql(', ') if not loop.last }}{% endfor %}] {%- endmacro %}
