{#- What tells whether a record is the one that was there before: a hash of all that counts of it, and who it is about.
    The hashes are versioned: DuckDB's own may change. -#}
{% macro unchanged_values(from, named) -%}
    {% for u in unchanged %}, {% set value = u.name if named else sql('u', u.i) %}{% if u.is_zoned %}epoch_us({{ from }}{{ value }}){% else %}{{ from }}{{ value }}{% endif %}{% endfor %}
{%- endmacro %}
{% macro row_hash(from) -%}
    md5_number_lower(row('dbanon 1'{% for q in quasi %}, {{ from }}q{{ q.i }}{% endfor %}{{ unchanged_values(from, false) }}{% if person %}, {{ from }}person{% endif %})::VARCHAR)
{%- endmacro %}
{#- The same of what is published as it is; `named` where columns have the names of the release. -#}
{% macro value_hash(from, named) -%}
    md5_number_lower(row('dbanon 1'{{ unchanged_values(from, named) }})::VARCHAR)
{%- endmacro %}
{% macro person_key(from) -%}
    {% if person %}{{ from }}person::VARCHAR{% elif key %}{{ from }}key::VARCHAR{% else %}NULL::VARCHAR{% endif %}
{%- endmacro %}
{#- Records e of a group g. -#}
{% macro same_group() -%}
    e.tie = g.tie{% for q in quasi %} AND e.c{{ q.i }} IS NOT DISTINCT FROM g.c{{ q.i }}{% endfor %}{% for s in tested %} AND e.s{{ s.i }} IS NOT DISTINCT FROM g.s{{ s.i }}{% endfor %}{% if person %} AND e.person IS NOT DISTINCT FROM g.person{% endif %}
{%- endmacro %}
