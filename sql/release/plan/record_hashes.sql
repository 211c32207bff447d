{#- The hashes by which records are recognized in other versions (see row_identity.sql), computed once per kind of
    record. Texts, integers and dates are hashed once per distinct value: most columns have few. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, value_hash, cell, person_key, upper_half with context -%}
{% set published = unchanged|rejectattr('is_link')|list %}
{% set recorded = quasi + published %}
{#- Whether a record has one published value, which is hashed once per distinct value. -#}
{% set is_single_value = published|length == 1 and published[0].is_hashed_by_value and not is_wide %}
{#- The hash of the only published value. -#}
{% macro single_part(c) -%}{{ c.hashed|filled(value=sql('value')) }}{%- endmacro %}
{% for c in recorded if c.is_hashed_by_value and not is_wide %}
-- One row per value of {{ c.raw_name|comment }} in the source: its text in longer hashed texts, and its hash.
{{ 'hashes'|of(c) }} AS MATERIALIZED (
    SELECT value, {{ c.hashed|filled(value=sql('value')) }} AS part, {{ cell(c, sql('value')) }} AS cell\
        {% if is_single_value and c.raw_name == published[0].raw_name %}, \
        {{ value_hash(sql(''), false, single_part) }} AS value_hash{% endif +%}
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
        {% if is_single_value %}{{ 'hashes'|of(published[0]) }}.value_hash\
            {% else %}{{ value_hash(sql('s.'), false, part) }}{% endif %} AS value_hash
        {% for c in recorded %}
        , {% if c.is_hashed_by_value and not is_wide %}{{ 'hashes'|of(c) }}.cell\
            {% else %}{{ cell(c, sql('s.', c.column)) }}{% endif %} AS {{ 'hash'|of(c) }}
        {% endfor %}
    FROM source AS s
    {% for c in recorded if c.is_hashed_by_value and not is_wide %}
    LEFT JOIN {{ 'hashes'|of(c) }} ON {{ 'hashes'|of(c) }}.value IS NOT DISTINCT FROM s.{{ c.column }}
    {% endfor %}
),
