{#- Around a relation that is joined to all records. DuckDB then expects one row of it, not as many as there are
    records, and builds hash tables of it instead of the records; without this its estimates multiply until they
    overflow. -#}
{% macro few() %}-- DuckDB expects one row of a list, and plans accordingly.
    SELECT unnest(list(small_rows), max_depth := 2) FROM ({% endmacro %}
{% macro end_few() %}) AS small_rows{% endmacro %}
