{#- Sets of records of a version that a reader could subtract, each by itself: do they meet the whole model? From piece
    (class_id, value_hash{, person}, size) and value_of (value_hash, u..) to failed (class_id, parameter). -#}
{%- from 'release/plan/hierarchy_columns.sql' import all_trees with context -%}
{%- from 'privacy_models/is_satisfied.sql' import met -%}
{% macro body_class() -%}{% if joint and model_columns|length > 1 %}struct_extract(b.class_id, 1){% else %}b.class_id{% endif %}{%- endmacro %}
{% if person %}
source AS MATERIALIZED (
    SELECT row_number() OVER () AS rid, p.class_id AS piece, p.person{% for u in unchanged %}, v.{{ u.column }}{% endfor %}
    FROM piece AS p
    LEFT JOIN value_of AS v USING (value_hash)
),
record_classes AS MATERIALIZED (SELECT rid, piece AS class_id, 1 AS size FROM source),
{% else %}
released_values AS MATERIALIZED (
    SELECT p.class_id{% for u in unchanged %}, v.{{ u.column }}{% endfor %}, sum(p.size)::BIGINT AS size
    FROM piece AS p
    LEFT JOIN value_of AS v USING (value_hash)
    GROUP BY ALL
),
{% endif %}
{% if model_columns %}
{# What the models compare with: the whole version. #}
whole AS MATERIALIZED (
    {% if compared is defined %}{{ compared }}
    {% elif person %}
    SELECT m.person_key AS person{% for u in unchanged %}, v.{{ u.column }}{% endfor %}
    FROM {{ members }} AS m
    JOIN value_of AS v USING (value_hash)
    WHERE m.class_id IS NOT NULL
    {% else %}
    SELECT {% for u in unchanged %}{% if not loop.first %}, {% endif %}{{ u.name }} AS {{ u.column }}{% endfor %} FROM {{ version }}
    {% endif %}
),
usable_records AS (SELECT *{% for s in model_columns if s.tree %}, {{ s.column }}::VARCHAR COLLATE POSIX AS {{ 'category'|of(s) }}{% endfor %} FROM whole),
{% set ordered = model_columns|selectattr('tree')|map(attribute='tree')|list %}
{% if ordered %}
{{ all_trees(ordered, sql('usable_records')) }}
{% endif %}
{% include 'gate/model_measures.sql' %}
{% endif %}
count_of AS MATERIALIZED (
    SELECT class_id, sum(size)::BIGINT AS records{% if person %}, count(DISTINCT person) AS persons{% endif %}
    FROM piece
    GROUP BY class_id
),
failed AS MATERIALIZED (
    SELECT class_id, 'k' AS parameter FROM count_of WHERE {% if person %}persons{% else %}records{% endif %} < {{ k }}
    {% for s in model_columns %}{% for m in s.models %}
    UNION
    SELECT {{ body_class() }}, '{{ sql(m.parameter) }}'
    FROM {{ 'class sizes'|of(s) }} AS b
    LEFT JOIN {{ ('measured ' ~ m.parameter)|of(m) }} AS j USING (class_id)
    WHERE NOT coalesce({{ met(m) }}, false)
        {% if promised is defined and m.number in promised %}
        {# Another version demands it, for its people. #}
        AND {{ body_class() }} IN (SELECT class_id FROM part WHERE {{ promised[m.number] }})
        {% endif %}
    {% if m.compares %}
    {# How far a value lies from the table is not known where the value is not. #}
    UNION
    SELECT class_id, '{{ sql(m.parameter) }}' FROM piece WHERE value_hash NOT IN (SELECT value_hash FROM value_of)
        {% if promised is defined and m.number in promised %}
        AND class_id IN (SELECT class_id FROM part WHERE {{ promised[m.number] }})
        {% endif %}
    {% endif %}
    {% endfor %}{% endfor %}
)
