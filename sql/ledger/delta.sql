{#- What a reader of two versions can subtract: the rows that a version has in a class, by published values, and the other
    has not. They must be none or meet the whole model by themselves. One row: in how many ways classes do not. It shares
    no step with what made the versions. -#}
{%- from 'part/tree.sql' import tree with context -%}
{% macro cells() -%}{% for c in quasi_output %}{% if not loop.first %}, {% endif %}{{ c.name }}{% endfor %}{%- endmacro %}
{% macro same(one, other) -%}{% for c in quasi_output %}{% if not loop.first %} AND {% endif %}{{ one }}.{{ c.name }} IS NOT DISTINCT FROM {{ other }}.{{ c.name }}{% endfor %}{%- endmacro %}
WITH RECURSIVE
moved AS MATERIALIZED (
    SELECT dense_rank() OVER (ORDER BY {{ cells() }}) AS class_id, *
    FROM (
        SELECT {{ cells() }}{% for u in unchanged %}, {{ u.name }}{% endfor %} FROM {{ version }}
        EXCEPT ALL
        SELECT {{ cells() }}{% for u in unchanged %}, {{ u.name }}{% endfor %} FROM {{ other }}
    )
),
released AS MATERIALIZED (
    SELECT class_id{% for u in unchanged %}, {{ u.name }} AS u{{ u.i }}{% endfor %}, count(*)::BIGINT AS size
    FROM moved
    GROUP BY ALL
),
size_of AS MATERIALIZED (SELECT class_id, sum(size)::BIGINT AS size FROM released GROUP BY class_id),
{% if by_person %}
{# How many people have more records in the class than in the other version: no more are behind what moved. #}
people AS MATERIALIZED (
    SELECT c.class_id, count(DISTINCT p.person_key) FILTER (WHERE p.records > coalesce(b.records, 0)) AS persons
    FROM (SELECT DISTINCT class_id, {{ cells() }} FROM moved) AS c
    JOIN (SELECT DISTINCT {{ class_id }} AS id, {{ cells() }} FROM {{ version }}) AS x ON {{ same(sql('x'), sql('c')) }}
    LEFT JOIN (SELECT DISTINCT {{ class_id }} AS id, {{ cells() }} FROM {{ other }}) AS y ON {{ same(sql('y'), sql('c')) }}
    JOIN (SELECT class_id AS id, person_key, sum(records) AS records FROM {{ members }} GROUP BY ALL) AS p ON p.id = x.id
    LEFT JOIN (SELECT class_id AS id, person_key, sum(records) AS records FROM {{ other_members }} GROUP BY ALL) AS b
        ON b.id = y.id AND b.person_key = p.person_key
    GROUP BY c.class_id
),
{% endif %}
{% if tested %}
whole AS MATERIALIZED (SELECT {% for u in unchanged %}{% if not loop.first %}, {% endif %}{{ u.name }} AS u{{ u.i }}{% endfor %} FROM {{ version }}),
kept AS (SELECT *{% for s in tested if s.tree %}, u{{ s.u }}::VARCHAR COLLATE POSIX AS q{{ s.tree.i }}{% endfor %} FROM whole),
{% for s in tested if s.tree %}
{{ tree(s.tree) }}
{% endfor %}
{% include 'part/judged.sql' %}
{% endif %}
short AS (
    SELECT (SELECT count(*) FROM size_of WHERE size < {{ k }}) AS classes
    {% if by_person %}
    UNION ALL SELECT count(*) FROM people WHERE persons < {{ k }}
    {% endif %}
    {% for s in tested %}{% for m in s.models %}
    UNION ALL SELECT (SELECT count(*) FROM body_{{ s.i }}) - count(*) FILTER (WHERE {{ met(m) }}) FROM judged_{{ m.number }}
    {% endfor %}{% endfor %}
)
SELECT coalesce(max(classes), 0)::BIGINT AS classes FROM short
