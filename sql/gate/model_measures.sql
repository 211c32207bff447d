{#- The measures of the privacy models for every class as it is published: "disease: measured l" (class_id, value) for
    each model of the call. Part of the gate: computed from the released rows and the source, not from the counts of
    the clustering. -#}
{%- from 'shared/record_assignment.sql' import records with context -%}
{% for s in model_columns if s.models %}
{# In the joint form a class is judged within equal values of the other sensitive columns. DuckDB 1.5 cannot store a
    struct without names in a temporary table (see `step_tables`). #}
{% macro part(from) -%}
    {% if joint and model_columns|length > 1 %}struct_pack(class_id := {{ from }}class_id\
        {% for o in model_columns if o.i != s.i %}, {{ 'part'|of(o) }} := {% if person %}s.{% endif %}{{ o.column }}\
        {% endfor %}){% else %}{{ from }}class_id{% endif %}
{%- endmacro %}
-- One row per class and sensitive value: how many records or persons. In the joint form, records with equal values of
-- the other sensitive columns are checked together.
{{ 'by class'|of(s) }} AS MATERIALIZED (
    {% if person %}
    SELECT {{ part(sql('l.')) }} AS class_id, s.{{ s.column }} AS value, count(DISTINCT s.person) AS size
    FROM {{ records() }}
    GROUP BY ALL
    HAVING count(DISTINCT s.person) > 0
    {% else %}
    SELECT {{ part(sql('')) }} AS class_id, {{ s.column }} AS value, sum(size)::BIGINT AS size
    FROM released_values
    GROUP BY ALL
    {% endif %}
),
-- One row per class: how many records or persons it has.
{{ 'class sizes'|of(s) }} AS MATERIALIZED (
    {% if person %}
    SELECT {{ part(sql('l.')) }} AS class_id, count(DISTINCT s.person) AS size
    FROM {{ records() }}
    GROUP BY ALL
    HAVING count(DISTINCT s.person) > 0
    {% else %}
    SELECT class_id, sum(size)::BIGINT AS size FROM {{ 'by class'|of(s) }} GROUP BY class_id
    {% endif %}
),
{% if follows is defined and follows %}
{# The same measure for the persons whose linked rows are in the same classes. #}
{% macro trailed() -%}
    struct_pack(class_id := s.class_id, trail := s.trail{% if joint and model_columns|length > 1 %}\
        {% for o in model_columns if o.i != s.i %}, {{ 'part'|of(o) }} := s.{{ o.column }}{% endfor %}{% endif %})
{%- endmacro %}
{{ 'followed values'|of(s) }} AS MATERIALIZED (
    SELECT {{ trailed() }} AS class_id, s.{{ s.column }} AS value, count(DISTINCT s.person) AS size
    FROM followed_records AS s
    GROUP BY ALL
    HAVING count(DISTINCT s.person) > 0
),
{{ 'followed sizes'|of(s) }} AS MATERIALIZED (
    SELECT {{ trailed() }} AS class_id, count(DISTINCT s.person) AS size
    FROM followed_records AS s
    GROUP BY ALL
    HAVING count(DISTINCT s.person) > 0
),
{% endif %}
-- One row per sensitive value: how many records or persons have it in all classes (in a refresh: in the whole source).
{{ 'in all'|of(s) }} AS MATERIALIZED (
    {% if whole_table %}
    SELECT {{ s.column }} AS value, sum(size)::BIGINT AS size FROM {{ 'larger'|of(s) }} GROUP BY ALL \
        HAVING sum(size) > 0
    {% elif version %}
    SELECT {{ s.column }} AS value, count({% if person %}DISTINCT person{% else %}*{% endif %})::BIGINT AS size \
        FROM whole GROUP BY ALL{% if person %} HAVING count(person) > 0{% endif %}
    {% elif person %}
    SELECT s.{{ s.column }} AS value, count(DISTINCT s.person) AS size
    FROM {{ records() }}
    GROUP BY s.{{ s.column }}
    HAVING count(DISTINCT s.person) > 0
    {% else %}
    SELECT value, sum(size)::BIGINT AS size FROM {{ 'by class'|of(s) }} GROUP BY value
    {% endif %}
),
{% for m in s.models %}
{% import m.file as model %}
{% set of = {'held': 'by class'|of(s), 'body': 'class sizes'|of(s), 'overall': 'in all'|of(s), \
    'places': ('places for ' ~ m.label)|of(m)} %}
{% if m.order %}
-- One row per value: its position among the others, for the distance of two distributions.
{{ ('places for ' ~ m.label)|of(m) }} AS MATERIALIZED (
    {% if s.tree %}{{ model.places(m.form, of.overall, sql('(FROM hierarchy WHERE tree = ', s.tree.tree, ')'), \
        sql('(SELECT label, node AS place FROM nodes WHERE is_leaf AND tree = ', s.tree.tree, ')')) }}
    {% else %}{{ model.places(m.form, of.overall, none, none) }}
    {% endif %}
),
{% endif %}
-- One row per class: the value of the privacy model.
{{ ('measured ' ~ m.label)|of(m) }} AS MATERIALIZED ({{ model.measure(m.form, of, m.settings) }}),
{% if follows is defined and follows %}
-- One row per class and trail of linked rows, and per trail (class -2): the value of the privacy model.
{% set of_links = {'held': 'followed values'|of(s), 'body': 'followed sizes'|of(s), 'overall': of.overall, \
    'places': of.places} %}
{{ ('followed ' ~ m.label)|of(m) }} AS MATERIALIZED ({{ model.measure(m.form, of_links, m.settings) }}),
{% endif %}
{% endfor %}
{% endfor %}
