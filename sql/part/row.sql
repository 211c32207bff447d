{#- What tells whether a record is the one that was there before: a hash of all that counts of it, and who it is about.
    The hash is versioned: DuckDB's own may change. -#}
{% macro row_hash(from) -%}
    md5_number_lower(row('dbanon 1'{% for q in quasi %}, {{ from }}q{{ q.i }}{% endfor %}{% for u in unchanged %}, {% if u.is_zoned %}epoch_us({{ from }}u{{ u.i }}){% else %}{{ from }}u{{ u.i }}{% endif %}{% endfor %}{% if person %}, {{ from }}person{% endif %})::VARCHAR)
{%- endmacro %}
{% macro person_key(from) -%}
    {% if person %}{{ from }}person::VARCHAR{% elif key %}{{ from }}key::VARCHAR{% else %}NULL::VARCHAR{% endif %}
{%- endmacro %}
