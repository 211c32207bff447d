{#- ml_utility('release', 'source', ...): one row per model: how often it is right on records of the source that it has
    not learned from. Every value is a number from 0 to 1 in the range of the column, a published one the middle of its
    interval: numbers and dates are themselves, categories are their place among the leaves. Missing values are -1. -#}
{%- from 'audit/query_error/column_readings.sql' import column_problems, first_column_problem -%}
{%- from 'audit/query_error/column_readings.sql' import leaf_joins, ranges, readings -%}
{%- from 'audit/query_error/column_readings.sql' import table_problems, value_of -%}
{% macro feature(value, c) -%}
    {% set low = 'low'|of(c) -%}
    {% set high = 'high'|of(c) -%}
    CASE
            WHEN {{ value }} IS NULL THEN -1
            WHEN d.{{ high }} = d.{{ low }} THEN 0
            ELSE ({{ value }} / 2 - d.{{ low }} / 2) / (d.{{ high }} / 2 - d.{{ low }} / 2)
        END
{%- endmacro %}
{#- An end of a published value, as features are: `*` can be anything, missing values too, which are below all. -#}
{% macro end_of(c, is_low) -%}
    {% set end = sql('reading'|of(c), '.', 'low' if is_low else 'high') -%}
    CASE
        WHEN t.{{ c.column }} IS NULL THEN -1
        WHEN t.{{ c.column }} = '*' THEN {{ -1 if is_low else 2 }}
        {% if c.is_number %}
        {% if is_low %}
        WHEN {{ 'reading'|of(c) }}.is_open_below THEN -0.5
        {% else %}
        WHEN {{ 'reading'|of(c) }}.is_open_above THEN 2
        {% endif %}
        {% endif %}
        ELSE {{ feature(end, c) }}
    END
{%- endmacro %}
{% macro rows_of(relation, boxes) -%}
    (
            SELECT list({'f': features, {% if boxes %}'box': ends, {% endif %}'label': label, 'records': records})
            FROM {{ relation }}
            WHERE (SELECT message FROM problems) IS NULL
        )
{%- endmacro %}
WITH RECURSIVE
-- One row per combination of values of the source and a label: its number of records.
source_cells AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        {{ c.value }} AS {{ c.column }},
        {% endfor %}
        {{ true_label }} AS label, count(*) AS records
    FROM {{ source }}
    GROUP BY ALL
),
-- One row per combination of published texts and a label: its number of records.
published_cells AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        CAST({{ c.published_value }} AS VARCHAR) COLLATE POSIX AS {{ c.column }},
        {% endfor %}
        {{ released_label }} AS label, count(*) AS records
    FROM {{ release }}
    GROUP BY ALL
),
{{ readings(attributes) }}
{{ ranges(attributes) }}
-- One row per label on either side, numbered from 0.
labels AS MATERIALIZED (
    SELECT label, row_number() OVER (ORDER BY label ASC) - 1 AS number
    FROM (SELECT label FROM source_cells UNION SELECT label FROM published_cells)
    WHERE label IS NOT NULL
),
-- One row per combination of the source that has a label, as numbers.
source_tuples AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        {{ value_of(c) }} AS {{ c.column }},
        {% endfor %}
        n.number AS label, t.records
    FROM source_cells AS t
    JOIN labels AS n ON n.label = t.label
    {{ leaf_joins(attributes) }}
),
-- One row: the range of each column.
domains AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        min({{ c.column }}) AS {{ 'low'|of(c) }},
        max({{ c.column }}) AS {{ 'high'|of(c) }}{% if not loop.last %},{% endif +%}
        {% endfor %}
    FROM source_tuples
),
-- One row: the number of records on both sides, of those with a label, and of labels.
sizes AS MATERIALIZED (
    SELECT
        (SELECT coalesce(sum(records), 0) FROM source_cells) AS records,
        (SELECT count(*) FROM published_cells) AS published_combinations,
        (SELECT coalesce(sum(records), 0) FROM source_tuples) AS labelled_records,
        (SELECT count(*) FROM published_cells WHERE label IS NOT NULL) AS labelled_combinations,
        (SELECT count(*) FROM labels) AS labels
),
{{ column_problems(attributes, column_messages) }}
-- One row: the first reason to refuse the call, or NULL.
problems AS MATERIALIZED (
    SELECT coalesce(
{{ table_problems(sources) }}
        CASE
            WHEN sizes.records = 0 THEN {{ say.empty }}
            WHEN sizes.published_combinations = 0 THEN {{ say.empty_release }}
        END,
        {{ first_column_problem() }},
        CASE
            WHEN labels > {{ most }} THEN {{ say.many }}
            WHEN labelled_records < 2 OR labelled_combinations = 0 THEN {{ say.few }}
        END
    ) AS message
    FROM sizes
),
-- One row per combination of the source: its features.
source_features AS MATERIALIZED (
    SELECT
        [
        {% for c in attributes %}
        {{ feature(sql('t.', c.column), c) }}{% if not loop.last %},{% endif +%}
        {% endfor %}
        ]::DOUBLE[] AS features,
        t.label, sum(t.records)::BIGINT AS records
    FROM source_tuples AS t
    CROSS JOIN domains AS d
    GROUP BY ALL
),
-- One row per combination of published texts that has a label, as numbers: the middle and the ends of its intervals.
published_tuples AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        {% set reading = 'reading'|of(c) %}
        {% set range = 'range'|of(c) %}
        CASE WHEN t.{{ c.column }} IS NOT NULL THEN
            coalesce({{ reading }}.low, {{ range }}.low) / 2 + coalesce({{ reading }}.high, {{ range }}.high) / 2
        END AS {{ c.column }},
        {{ end_of(c, true) }} AS {{ 'low'|of(c) }},
        {{ end_of(c, false) }} AS {{ 'high'|of(c) }},
        {% endfor %}
        n.number AS label, t.records
    FROM published_cells AS t
    JOIN labels AS n ON n.label = t.label
    {% for c in attributes %}
    {% set reading = 'reading'|of(c) %}
    {% set range = 'range'|of(c) %}
    LEFT
    JOIN readings AS {{ reading }}
        ON {{ reading }}.attribute = {{ c.key }} AND {{ reading }}.published = t.{{ c.column }}
    LEFT JOIN column_ranges AS {{ range }} ON {{ range }}.attribute = {{ c.key }}
    {% endfor %}
    CROSS JOIN domains AS d
),
-- One row per combination of the release: its features, and the lower and upper ends of its intervals.
published_features AS MATERIALIZED (
    SELECT
        [
        {% for c in attributes %}
        {{ feature(sql('t.', c.column), c) }}{% if not loop.last %},{% endif +%}
        {% endfor %}
        ]::DOUBLE[] AS features,
        [
            {% for c in attributes %}t.{{ 'low'|of(c) }}, {% endfor +%}
            {% for c in attributes %}t.{{ 'high'|of(c) }}{% if not loop.last %}, {% endif %}{% endfor +%}
        ]::DOUBLE[] AS ends,
        t.label, sum(t.records)::BIGINT AS records
    FROM published_tuples AS t
    CROSS JOIN domains AS d
    GROUP BY ALL
),
-- One row: the scores of the models, as the Python function returns them.
scores AS MATERIALIZED (
    SELECT dbanon_utility({{ request }}, {
        'source': {{ rows_of(sql('source_features'), false) }},
        'release': {{ rows_of(sql('published_features'), true) }}
    }) AS scores
),
-- One row: the reason to refuse the call, or NULL.
refusals AS MATERIALIZED (
    SELECT coalesce(p.message, s.scores.error) AS message FROM problems AS p CROSS JOIN scores AS s
)
SELECT
    s.trained_on, s.accuracy, s.balanced_accuracy, s.f_measure, s.retained_gain, s.n_train, s.n_test, s.davies_bouldin,
    s.cluster_agreement
FROM refusals AS p
LEFT JOIN (SELECT unnest(scores.rows, recursive := true) FROM scores) AS s ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
