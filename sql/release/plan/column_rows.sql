{#- Values of many columns as rows instead of a join per column: two lists that are unnested side by side, the numbers
    of the quasi-identifiers and their values. -#}
{% macro column_numbers(columns) -%} \
    unnest([{% for c in columns %}{{ c.i }}{{ sql(', ') if not loop.last }}{% endfor %}]) {%- endmacro %}
{#- The values, with a prefix such as `r.` before each name. -#}
{% macro column_list(columns, of) -%} [\
    {% for c in columns %}{{ of }}{{ c.column }}{{ sql(', ') if not loop.last }}{% endfor %}] {%- endmacro %}
{#- What is derived from the columns: `"age: low"`. -#}
{% macro derived_list(columns, of, step) -%} [\
    {% for c in columns %}{{ of }}{{ step|of(c) }}{{ sql(', ') if not loop.last }}{% endfor %}] {%- endmacro %}
