{#- ml_utility('release', 'source', ...): a row a model, how often it is right on records of the source that it has not
    learned from. Every value is a number from 0 to 1 of what occurs, a published one the middle of its interval: numbers
    and dates as they are, categories by their place among the leaves. Missing values are -1. -#}
{%- from 'audit/query_error/random_queries.sql' import reading, unfit, moved -%}
{% macro feature(value, c) -%}
    CASE WHEN {{ value }} IS NULL THEN -1 WHEN d.high{{ c.i }} = d.low{{ c.i }} THEN 0 ELSE ({{ value }} / 2 - d.low{{ c.i }} / 2) / (d.high{{ c.i }} / 2 - d.low{{ c.i }} / 2) END
{%- endmacro %}
{#- An end of what is published, as features are: * can be anything, missing values too, which lie below all. -#}
{% macro end_of(c, is_low) -%}
    {% set end = sql('r' ~ c.i ~ ('.low' if is_low else '.high')) -%}
    CASE
        WHEN t.p{{ c.i }} IS NULL THEN -1
        WHEN t.p{{ c.i }} = '*' THEN {{ -1 if is_low else 2 }}
        {% if c.is_number %}
        {% if is_low %}
        WHEN starts_with(t.p{{ c.i }}, '<=') OR starts_with(t.p{{ c.i }}, '[<=') THEN -0.5
        {% else %}
        WHEN regexp_matches(t.p{{ c.i }}, '(?:^|, )>=') THEN 2
        {% endif %}
        {% endif %}
        ELSE {{ feature(end, c) }}
    END
{%- endmacro %}
{% macro rows_of(relation, boxes) -%}
    (SELECT list({'f': f, {% if boxes %}'box': box, {% endif %}'label': label, 'records': records}) FROM {{ relation }} WHERE (SELECT message FROM problem) IS NULL)
{%- endmacro %}
WITH RECURSIVE
-- A row a combination of values of the source and a label: how many records have it.
true_cells AS MATERIALIZED (
    SELECT {% for c in attributes %}{{ c.value }} AS v{{ c.i }}, {% endfor %}{{ true_label }} AS label, count(*) AS records
    FROM {{ source }}
    GROUP BY ALL
),
-- A row a combination of published texts and a label: how many records have it.
told_cells AS MATERIALIZED (
    SELECT {% for c in attributes %}CAST({{ c.published_value }} AS VARCHAR) COLLATE POSIX AS p{{ c.i }}, {% endfor %}{{ told_label }} AS label, count(*) AS records
    FROM {{ release }}
    GROUP BY ALL
),
{% for c in attributes %}
{{ reading(c) }}
{% endfor %}
-- A row a label of either side, numbered from 0.
labels AS MATERIALIZED (
    SELECT label, row_number() OVER (ORDER BY label ASC) - 1 AS number
    FROM (SELECT label FROM true_cells UNION SELECT label FROM told_cells)
    WHERE label IS NOT NULL
),
-- A row a combination of the source that has a label, as numbers.
true_places AS MATERIALIZED (
    SELECT {% for c in attributes %}{% if c.is_number %}t.v{{ c.i }}{% else %}l{{ c.i }}.place{% endif %} AS v{{ c.i }}, {% endfor %}n.number AS label, t.records
    FROM true_cells AS t
    JOIN labels AS n ON n.label = t.label
    {% for c in attributes if not c.is_number %}
    LEFT JOIN {{ 'leaf'|of(c) }} AS l{{ c.i }} ON l{{ c.i }}.value = t.v{{ c.i }}
    {% endfor %}
),
-- One row: the range of each column.
domain AS MATERIALIZED (
    SELECT {% for c in attributes %}min(v{{ c.i }}) AS low{{ c.i }}, max(v{{ c.i }}) AS high{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %} FROM true_places
),
-- One row: how many records have a label, on both sides, and how many labels there are.
facts AS MATERIALIZED (
    SELECT
        (SELECT coalesce(sum(records), 0) FROM true_cells) AS records,
        (SELECT count(*) FROM told_cells) AS told,
        (SELECT coalesce(sum(records), 0) FROM true_places) AS labelled,
        (SELECT count(*) FROM told_cells WHERE label IS NOT NULL) AS told_labelled,
        (SELECT count(*) FROM labels) AS labels
),
-- One row: the first reason to refuse the call, or NULL.
problem AS MATERIALIZED (
    SELECT coalesce(
        {{ moved(sources) }}
        CASE WHEN facts.records = 0 THEN {{ say.empty }} WHEN facts.told = 0 THEN {{ say.empty_release }} END,
        {% for c in attributes %}
        {{ unfit(c) }}
        {% endfor %}
        CASE WHEN labels > {{ most }} THEN {{ say.many }} WHEN labelled < 2 OR told_labelled = 0 THEN {{ say.few }} END
    ) AS message
    FROM facts
),
-- A row a combination of the source: its features.
true_rows AS MATERIALIZED (
    SELECT [{% for c in attributes %}{{ feature(sql('t.v', c.i), c) }}{% if not loop.last %}, {% endif %}{% endfor %}]::DOUBLE[] AS f, t.label, sum(t.records)::BIGINT AS records
    FROM true_places AS t
    CROSS JOIN domain AS d
    GROUP BY ALL
),
-- A row a combination of the release: its features, and the lower and upper ends of what it stands for.
told_rows AS MATERIALIZED (
    SELECT
        [{% for c in attributes %}{{ feature(sql('t.v', c.i), c) }}{% if not loop.last %}, {% endif %}{% endfor %}]::DOUBLE[] AS f,
        [{% for c in attributes %}t.low{{ c.i }}, {% endfor %}{% for c in attributes %}t.high{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %}]::DOUBLE[] AS box,
        t.label, sum(t.records)::BIGINT AS records
    FROM (
        SELECT
            {% for c in attributes %}
            CASE WHEN t.p{{ c.i }} IS NOT NULL THEN coalesce(r{{ c.i }}.low, w{{ c.i }}.low) / 2 + coalesce(r{{ c.i }}.high, w{{ c.i }}.high) / 2 END AS v{{ c.i }},
            {{ end_of(c, true) }} AS low{{ c.i }}, {{ end_of(c, false) }} AS high{{ c.i }},
            {% endfor %}
            n.number AS label, t.records
        FROM told_cells AS t
        JOIN labels AS n ON n.label = t.label
        {% for c in attributes %}
        LEFT JOIN {{ 'read'|of(c) }} AS r{{ c.i }} ON r{{ c.i }}.published = t.p{{ c.i }}
        CROSS JOIN {{ 'whole'|of(c) }} AS w{{ c.i }}
        {% endfor %}
        CROSS JOIN domain AS d
    ) AS t
    CROSS JOIN domain AS d
    GROUP BY ALL
),
-- One row: what the models came to.
answer AS MATERIALIZED (
    SELECT dbanon_utility({{ request }}, {'source': {{ rows_of(sql('true_rows'), false) }}, 'release': {{ rows_of(sql('told_rows'), true) }}}) AS told
),
-- One row: why the call is refused, or NULL.
stop AS MATERIALIZED (
    SELECT coalesce(p.message, a.told.error) AS message FROM problem AS p CROSS JOIN answer AS a
)
SELECT a.trained_on, a.accuracy, a.balanced_accuracy, a.retained_gain, a.n_train, a.n_test
FROM stop AS p
LEFT JOIN (SELECT unnest(told.rows, recursive := true) FROM answer) AS a ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
