{#- The people of a register as numbers, and the classes that each of them may be in. Linkage and membership read them.
    Imported with context, because the columns are those of the register's pairs `others`. -#}
{%- from 'audit/query_error/column_readings.sql' import leaf_joins -%}
{%- from 'audit/risk/published_cells.sql' import ends_of, inside, values_as_numbers with context -%}
{% macro register_relations(relation) %}
{% set columns %}{% for c in others %}{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}{% endset %}
-- One row per combination of values of the register, as numbers; equal ones have the same number. It is not is_readable
-- if the hierarchy of a column lacks its value; then it fits no class.
register_people AS MATERIALIZED (
    SELECT
        *,
        dense_rank() OVER (ORDER BY {% for c in others %}{{ c.column }} ASC NULLS LAST, {% endfor %}is_readable ASC)
            AS tuple_id
    FROM (
        SELECT
            {{ values_as_numbers(others) }}

            {% for c in others if not c.is_number %}
            (t.{{ c.column }} IS NULL OR {{ 'leaf'|of(c) }}.place IS NOT NULL)
                {% if not loop.last %}AND{% else %}AS is_readable,{% endif +%}
            {% else %}
            true AS is_readable,
            {% endfor %}
            t.identity, t.records
        FROM {{ relation }} AS t
        {{ leaf_joins(others) }}
    )
),
-- One row per class: the least and the greatest value that each column of the register may have.
register_ends AS MATERIALIZED (
    {{ ends_of(others) }}
),
-- One row per such combination and class that it may be in.
register_candidates AS MATERIALIZED (
    SELECT t.tuple_id, k.class_id, t.people
    FROM (
        SELECT tuple_id, {{ columns }}, sum(records)::BIGINT AS people
        FROM register_people
        WHERE is_readable
        GROUP BY ALL
    ) AS t
    CROSS JOIN register_ends AS k
    WHERE
        {{ inside(others) }}

),
{% endmacro %}
