{#- Whether sets of records of a version that a reader could subtract meet the whole model, each by itself. From pieces
    (class_id, value_hash{, person}, size), with one class_id per set, and published_values (value_hash, columns) to
    missed_models (class_id, parameter). -#}
{%- from 'release/plan/hierarchy_columns.sql' import all_trees with context -%}
{%- from 'privacy_models/is_satisfied.sql' import met -%}
{% macro piece_id() -%}
{% if joint and model_columns|length > 1 %}struct_extract(b.class_id, 'class_id'){% else %}b.class_id{% endif %}
{%- endmacro %}
{% if person %}
-- One row per person and published value in a set.
source AS MATERIALIZED (
    SELECT
        row_number() OVER () AS rid, p.class_id AS piece_id, p.person
        {% for u in unchanged %}
        , v.{{ u.column }}
        {% endfor %}
    FROM pieces AS p
    LEFT JOIN published_values AS v USING (value_hash)
),
-- The same rows, with the set as their class.
record_classes AS MATERIALIZED (SELECT rid, piece_id AS class_id, 1 AS size FROM source),
{% else %}
-- One row per published value in a set: how many records have it.
released_values AS MATERIALIZED (
    SELECT
        p.class_id
        {% for u in unchanged %}
        , v.{{ u.column }}
        {% endfor %}
        , sum(p.size)::BIGINT AS size
    FROM pieces AS p
    LEFT JOIN published_values AS v USING (value_hash)
    GROUP BY ALL
),
{% endif %}
{% if model_columns %}
-- One row per record of the whole version, with which the models compare.
whole AS MATERIALIZED (
    {% if compared is defined %}
    {{ compared }}
    {% elif person %}
    SELECT
        m.person_key AS person
        {% for u in unchanged %}
        , v.{{ u.column }}
        {% endfor %}
    FROM {{ members }} AS m
    JOIN published_values AS v USING (value_hash)
    WHERE m.class_id IS NOT NULL
    {% else %}
    SELECT
        {% for u in unchanged %}
        {{ u.name }} AS {{ u.column }}{{ sql(',') if not loop.last }}
        {% endfor %}
    FROM {{ version }}
    {% endif %}
),
-- The same rows, with texts of the sensitive values that have a hierarchy.
usable_records AS (
    SELECT
        *
        {% for s in model_columns if s.tree %}
        , {{ s.column }}::VARCHAR COLLATE POSIX AS {{ 'category'|of(s) }}
        {% endfor %}
    FROM whole
),
{% set trees_of_models = model_columns|selectattr('tree')|map(attribute='tree')|list %}
{% if trees_of_models %}
{{ all_trees(trees_of_models, sql('usable_records')) }}
{% endif %}
{% include 'gate/model_measures.sql' %}
{% endif %}
-- One row per set: its size.
piece_sizes AS MATERIALIZED (
    SELECT class_id, sum(size)::BIGINT AS records{% if person %}, count(DISTINCT person) AS persons{% endif +%}
    FROM pieces
    GROUP BY class_id
),
-- One row per set and model that it misses.
missed_models AS MATERIALIZED (
    SELECT class_id, 'k' AS parameter
    FROM piece_sizes
    WHERE {% if person %}persons{% else %}records{% endif %} < {{ k }}
    {% for s in model_columns %}
    {% for m in s.models %}
    UNION
    SELECT {{ piece_id() }}, '{{ sql(m.parameter) }}'
    FROM {{ 'class sizes'|of(s) }} AS b
    LEFT JOIN {{ ('measured ' ~ m.label)|of(m) }} AS j USING (class_id)
    WHERE NOT coalesce({{ met(m) }}, false)
        {% if promised is defined and m.number in promised %}
        {# Another version demands it, for its people. #}
        AND {{ piece_id() }} IN (SELECT class_id FROM part_records WHERE {{ promised[m.number] }})
        {% endif %}
    {% if m.compares %}
    {# The distance of a value from the table is unknown if the value is unknown. #}
    UNION
    SELECT class_id, '{{ sql(m.parameter) }}'
    FROM pieces
    WHERE value_hash NOT IN (SELECT value_hash FROM published_values)
        {% if promised is defined and m.number in promised %}
        AND class_id IN (SELECT class_id FROM part_records WHERE {{ promised[m.number] }})
        {% endif %}
    {% endif %}
    {% endfor %}
    {% endfor %}
)
