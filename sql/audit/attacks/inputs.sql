{#- The relations that all attacks read: the classes of the release, the people of the source, and the classes that
    each of them may be in by their quasi-identifiers: candidate_classes (tuple_id, class_id). Sensitive values are
    texts. -#}
{%- from 'audit/query_error/column_readings.sql' import column_problems, first_column_problem -%}
{%- from 'audit/query_error/column_readings.sql' import leaf_joins, ranges, readings -%}
{%- from 'audit/query_error/column_readings.sql' import table_problems -%}
{%- from 'release/plan/hierarchy_preorder.sql' import walk -%}
{%- from 'audit/risk/published_cells.sql' import ends_of, inside, values_as_numbers with context -%}
{%- from 'audit/attacks/sample.sql' import sample_of with context -%}
{% macro columns(attributes) -%}
    {% for c in attributes %}{{ c.column }}{% if not loop.last %}, {% endif %}{% endfor %}
{%- endmacro %}
{% include 'audit/anonymity/inputs.sql' %}
-- One row per combination of raw values: its number of records.
source_cells AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        {{ c.value }} AS {{ c.column }},
        {% endfor %}
        {% for s in sensitive %}
        {{ s.true_value }} AS {{ s.column }},
        {% endfor %}
        {{ identity }} AS identity, count(*) AS records
    FROM {{ people }}
    GROUP BY ALL
),
{% if others %}
-- One row per combination of values of the register: its number of people.
population_cells AS MATERIALIZED (
    SELECT
        {% for c in others %}
        {{ c.value }} AS {{ c.column }},
        {% endfor %}
        {% for s in sensitive if s.other_value %}
        {{ s.other_value }} AS {{ s.column }},
        {% endfor %}
        {{ other_identity }} AS identity, count(*) AS records
    FROM {{ register }}
    GROUP BY ALL
),
{% endif %}
{{ readings(attributes + others) }}
{% if kind in ('reconstruction', 'refinement') %}
{{ ranges(attributes) }}
{% endif %}
-- One row per class: the least and the greatest value that each column may have.
class_ends AS MATERIALIZED (
    {{ ends_of(attributes) }}
),
-- One row per combination of raw values, as numbers. Missing values are -infinity.
source_tuples AS MATERIALIZED (
    SELECT
        {{ values_as_numbers(attributes) }}

        {% for s in sensitive %}t.{{ s.column }}, {% endfor %}t.identity, t.records
    FROM source_cells AS t
    {{ leaf_joins(attributes) }}
),
{% if is_sampled %}
{{ sample_of(sql('source_tuples'), attributes, sensitive) }}
{% endif %}
{% set trial_cells = sql('sampled_cells' if is_sampled else 'source_tuples') %}
-- One row per combination of quasi-identifiers, numbered.
tuples AS MATERIALIZED (
    SELECT
        row_number() OVER (ORDER BY {% for c in attributes %}{{ c.column }} ASC NULLS LAST{% if not loop.last %},
            {% endif %}{% endfor %}) AS tuple_id, *
    FROM (SELECT DISTINCT {{ columns(attributes) }} FROM {{ trial_cells }})
),
-- One row per combination of raw values, with the number of its quasi-identifiers.
people AS MATERIALIZED (
    SELECT t.tuple_id, e.*
    FROM {{ trial_cells }} AS e
    JOIN tuples AS t
        ON {% for c in attributes %}t.{{ c.column }} = e.{{ c.column }}{% if not loop.last %}
            AND {% endif %}{% endfor +%}
),
-- One row per combination of quasi-identifiers and class that it may be in.
candidate_classes AS MATERIALIZED (
    SELECT t.tuple_id, k.class_id
    FROM tuples AS t
    CROSS JOIN class_ends AS k
    WHERE
        {{ inside(attributes) }}

),
{% for s in sensitive if s.nodes and kind == 'similarity' %}
{{ walk({'raw_name': s.raw_name, 'rows': s.nodes}) }}
{% endfor %}
{{ column_problems(attributes + others, column_messages) }}
-- One row: the first reason why the tables do not fit together, or NULL.
misfits AS MATERIALIZED (
    SELECT coalesce(
{{ table_problems(sources) }}
        CASE WHEN NOT EXISTS (FROM source_cells) THEN {{ say.empty_source }} END,
        {{ first_column_problem() }},
        {% for s in sensitive if s.nodes and kind == 'similarity' %}
        (SELECT CASE WHEN count(*) FILTER (WHERE parent IS NULL) <> 1 THEN {{ s.say.roots }}
            WHEN count(*) <> (SELECT count(*) FROM {{ 'preorder'|of(s) }}) THEN {{ s.say.unreachable }}
            END FROM {{ 'hierarchy'|of(s) }}),
        (SELECT CASE WHEN uncovered > 0 THEN {{ s.say.uncovered }} END FROM (
            SELECT count(*) AS uncovered
            FROM {{ 'values'|of(s) }}
            WHERE value IS NOT NULL AND value NOT IN (SELECT label FROM {{ 'preorder'|of(s) }} WHERE is_leaf))),
        {% endfor %}
        CASE WHEN NOT EXISTS (FROM classes) THEN {{ say.empty }} END
    ) AS message
),
{% for s in sensitive %}
-- One row: the most frequent value of the release, which is the best guess without the classes.
{{ 'most frequent value'|of(s) }} AS MATERIALIZED (
    SELECT value, size::DOUBLE / (SELECT sum(size) FROM {{ 'values'|of(s) }}) AS share
    FROM {{ 'values'|of(s) }}
    WHERE value IS NOT NULL
    ORDER BY size DESC, value ASC
    LIMIT 1
),
{% endfor %}
