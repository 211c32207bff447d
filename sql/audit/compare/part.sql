{#- One encoding of the source, and what all runs on it lose and leave at risk. -#}
{%- from 'release/part/domains.sql' import domains, group, ends_of with context -%}
(
{% include 'release/part/encoded.sql' %}
-- One row: the figures of all runs.
answer AS MATERIALIZED (
    SELECT dbanon_compare(
        (SELECT CASE WHEN message IS NULL THEN {{ runs }} ELSE error(message) END FROM problem),
        (SELECT list({{ group() }}) FROM grouped)
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
