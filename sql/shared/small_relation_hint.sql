{#- Around a relation that is joined to all records. DuckDB then expects a row of it, not as many as there are records,
    and makes hash tables of it instead of the records; without this its estimates multiply until they overflow. -#}
{% macro few() %}SELECT unnest(list(few), max_depth := 2) FROM ({% endmacro %}
{% macro end_few() %}) AS few{% endmacro %}
