{#- The hashes by which records are recognized in other versions (see row_identity.sql), computed once per kind of
    record. Texts, integers and dates are hashed once per distinct value: most columns have few. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, value_hash, cell, person_key, upper_half with context -%}
{% set recorded = quasi + unchanged|rejectattr('is_link')|list %}
{% macro value_of(c) -%}s.{{ c.column }}{%- endmacro %}
{% for c in recorded if c.is_hashed_by_value and not is_wide %}
-- One row per value of {{ c.raw_name|comment }} in the source: its text in longer hashed texts, and its hash.
{{ 'hashes'|of(c) }} AS MATERIALIZED (
    SELECT value, {{ c.hashed|filled(value=sql('value')) }} AS part, {{ cell(c, sql('value')) }} AS cell
    FROM (SELECT DISTINCT {{ c.column }} AS value FROM source)
),
{% endfor %}
{#- The text of a value in a longer hashed text, and its hash. -#}
{% macro part(c) -%}
{% if c.is_hashed_by_value and not is_wide %}{{ 'hashes'|of(c) }}.part\
    {% else %}{{ c.hashed|filled(value=sql('s.', c.column)) }}{% endif %}
{%- endmacro %}
-- One row per kind of record: its person, and the hashes by which it is recognized. Records are hashed before they are
-- assigned to clusters, because the records of one kind can be in several.
record_hashes AS MATERIALIZED (
    SELECT
        s.rid, s.size, {{ person_key(sql('s.')) }} AS person_key,
        {{ row_hash(sql('s.'), part) }} AS row_hash,
        {{ value_hash(sql('s.'), false, part) }} AS value_hash
        {% for c in recorded %}
        , {% if c.is_hashed_by_value and not is_wide %}{{ 'hashes'|of(c) }}.cell\
            {% else %}{{ cell(c, sql('s.', c.column)) }}{% endif %} AS {{ 'hash'|of(c) }}
        {% endfor %}
    FROM source AS s
    {% for c in recorded if c.is_hashed_by_value and not is_wide %}
    LEFT JOIN {{ 'hashes'|of(c) }} ON {{ 'hashes'|of(c) }}.value IS NOT DISTINCT FROM s.{{ c.column }}
    {% endfor %}
),
