{#- What the privacy models say of every class as it is published: judged_i (class_id, value) for each model asked for.
    Part of the gate: computed from what is released and from the source, not from what the clustering counted. -#}
{%- import 'models/model.sql' as model -%}
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
{% for m in s.models if m.kind == 'closeness' %}
{% if m.emd == 'ordered' %}
rank_{{ s.i }} AS MATERIALIZED (
    SELECT o.value, row_number() OVER (ORDER BY {% if s.tree %}t.preorder{% else %}o.value{% endif %} ASC NULLS LAST) AS place
    FROM overall_of_{{ s.i }} AS o
    {% if s.tree %}
    LEFT JOIN tree_{{ s.tree.i }} AS t ON t.is_leaf AND t.label = o.value::VARCHAR
    {% endif %}
),
{% elif m.emd == 'hierarchical' %}
cell_{{ s.i }} AS MATERIALIZED ({{ model.cells_hierarchical(sql('overall_of_', s.i), sql('rows_', s.tree.i)) }}),
{% else %}
cell_{{ s.i }} AS MATERIALIZED ({{ model.cells_equal(sql('overall_of_', s.i)) }}),
{% endif %}
{% endfor %}
{% for m in s.models %}
{% set held = sql('held_', s.i) %}{% set body = sql('body_', s.i) %}{% set overall = sql('overall_of_', s.i) %}
judged_{{ m.number }} AS MATERIALIZED (
    {% if m.kind == 'distinct' %}{{ model.distinct_values(held, body) }}
    {% elif m.kind == 'entropy' %}{{ model.entropy(held, body) }}
    {% elif m.kind == 'recursive' %}{{ model.recursive(held, body, m.extra) }}
    {% elif m.kind == 'share' %}{{ model.greatest_share(held, body) }}
    {% elif m.kind in ('gain', 'enhanced') %}{{ model.greatest_gain(held, body, overall, m.kind == 'enhanced') }}
    {% elif m.emd == 'ordered' %}{{ model.mover_distance_ordered(held, body, overall, sql('rank_', s.i)) }}
    {% else %}{{ model.mover_distance(held, body, overall, sql('cell_', s.i)) }}
    {% endif %}
),
{% endfor %}
{% endfor %}
