{#- The published values of a row as lists of bytes, which no collation of a session affects: of its quasi-identifiers,
    and of all columns. `from` has columns as the plan names them. -#}
{% macro byte(value) -%} CASE WHEN {{ value }} IS NULL THEN ''::BLOB \
    ELSE encode('=' || {{ value }}::VARCHAR) END {%- endmacro %}
{% macro marks(t, from) -%}
    [{% for q in t.quasi %}{% if not loop.first %}, \
        {% endif %}{{ byte(sql(from, 'published'|of(q))) }}{% endfor %}]::BLOB[]
{%- endmacro %}
{% macro row_values(t, from) -%}
    [{% for q in t.quasi %}{{ byte(sql(from, 'published'|of(q))) }}, {% endfor %}{% for u in t.unchanged %}\
        {% if u.is_zoned %}{{ byte(sql('epoch_us(', from, u.column, ')')) }}\
        {% else %}{{ byte(sql(from, u.column)) }}{% endif %}, {% endfor %}''::BLOB]::BLOB[]
{%- endmacro %}
