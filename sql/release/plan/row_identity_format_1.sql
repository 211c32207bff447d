{#- The hashes of records as earlier versions made them (format 1): they depend on how a version of DuckDB writes texts.
    They are only read, to be replaced by those of row_identity.sql. -#}
{% macro unchanged_values(from, named) -%}
    {% for u in unchanged if not u.is_link %}, \
        {% set value = u.name if named else u.column %}{% if u.is_zoned %}epoch_us({{ from }}{{ value }})\
        {% else %}{{ from }}{{ value }}{% endif %}{% if u.is_tagged %}, \
        hash({{ from }}{{ value }}){% endif %}{% endfor %}
{%- endmacro %}
{% macro row_hash(from) -%}
    md5_number_lower(row('dbanon 1'{% for q in quasi %}, \
        {{ from }}{{ q.column }}{% endfor %}{{ unchanged_values(from, false) }}{% if person %}, \
        {{ from }}person{% endif %})::VARCHAR)
{%- endmacro %}
{% macro person_key(from) -%}
    {% if person %}{{ from }}person::VARCHAR{% elif key %}{{ from }}key::VARCHAR{% else %}NULL::VARCHAR{% endif %}
{%- endmacro %}
