{#- What the privacy models say of every class as it is published: judged_i (class_id, value) for each model asked for.
    Part of the gate: computed from what is released and from the source, not from what the clustering counted. -#}
{%- from 'release/part/assignment.sql' import records with context -%}
{% for s in tested if s.models %}
{# In the joint form a class is judged within equal values of the other sensitive columns. #}
{% macro part(from) -%}
    {% if joint and tested|length > 1 %}row({{ from }}class_id{% for o in tested if o.i != s.i %}, {% if person %}s.{% endif %}u{{ o.u }}{% endfor %}){% else %}{{ from }}class_id{% endif %}
{%- endmacro %}
held_{{ s.i }} AS MATERIALIZED (
    {% if person %}
    SELECT {{ part(sql('l.')) }} AS class_id, s.u{{ s.u }} AS value, count(DISTINCT s.person) AS size
    FROM {{ records() }}
    GROUP BY ALL
    HAVING count(DISTINCT s.person) > 0
    {% else %}
    SELECT {{ part(sql('')) }} AS class_id, u{{ s.u }} AS value, sum(size)::BIGINT AS size
    FROM released
    GROUP BY ALL
    {% endif %}
),
body_{{ s.i }} AS MATERIALIZED (
    {% if person %}
    SELECT {{ part(sql('l.')) }} AS class_id, count(DISTINCT s.person) AS size
    FROM {{ records() }}
    GROUP BY ALL
    HAVING count(DISTINCT s.person) > 0
    {% else %}
    SELECT class_id, sum(size)::BIGINT AS size FROM held_{{ s.i }} GROUP BY class_id
    {% endif %}
),
overall_of_{{ s.i }} AS MATERIALIZED (
    {% if version %}
    SELECT u{{ s.u }} AS value, count({% if person %}DISTINCT person{% else %}*{% endif %})::BIGINT AS size FROM whole GROUP BY ALL{% if person %} HAVING count(person) > 0{% endif %}
    {% elif person %}
    SELECT s.u{{ s.u }} AS value, count(DISTINCT s.person) AS size
    FROM {{ records() }}
    GROUP BY s.u{{ s.u }}
    HAVING count(DISTINCT s.person) > 0
    {% else %}
    SELECT value, sum(size)::BIGINT AS size FROM held_{{ s.i }} GROUP BY value
    {% endif %}
),
{% for m in s.models %}
{% import m.file as model %}
{% set of = {'held': sql('held_', s.i), 'body': sql('body_', s.i), 'overall': sql('overall_of_', s.i), 'places': sql('places_', m.number)} %}
{% if m.order %}
places_{{ m.number }} AS MATERIALIZED (
    {% if s.tree %}{{ model.places(m.form, of.overall, 'hierarchy'|of(s.tree), sql('(SELECT label, preorder AS place FROM ', 'tree'|of(s.tree), ' WHERE is_leaf)')) }}
    {% else %}{{ model.places(m.form, of.overall, none, none) }}
    {% endif %}
),
{% endif %}
judged_{{ m.number }} AS MATERIALIZED ({{ model.measure(m.form, of, m.settings) }}),
{% endfor %}
{% endfor %}
