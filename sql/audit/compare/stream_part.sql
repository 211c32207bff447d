{#- One encoding of a stream, and what all runs on it lose and leave at risk. -#}
{%- from 'release/part/domains.sql' import domains, group, ends_of with context -%}
{%- from 'stream/asked.sql' import asked with context -%}
(
{% include 'release/part/encoded.sql' %}
{% include 'stream/arrived.sql' %}
-- One row: the figures of all runs.
answer AS MATERIALIZED (
    SELECT dbanon_compare_streams(
        {{ asked(runs) }},
        (SELECT list({{ group() }}) FROM grouped),
        (SELECT list(struct_pack(rid := rid, gid := gid)) FROM arrived)
        {{ domains() }}
        {% for q in quasi if q.is_number %}
        , (SELECT {{ ends_of(q) }})
        {% endfor %}
        , (SELECT records FROM facts)
    ) AS answer
    {% if trees %}FROM tree_domain AS d{% endif +%}
)
{% include 'audit/compare/rows.sql' %}
)
