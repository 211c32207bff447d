{#- query_error('release', 'source', ...): relative error of random counts and averages, by number of predicates.
    Every value is a number, every published value an interval of them: numbers and dates as they are, categories by
    their place among the leaves. Missing values are -infinity, which no predicate selects. -#}
{%- from 'audit/query_error/random_queries.sql' import reading, unfit, moved -%}
{% macro chance() -%} (md5_number_lower(concat_ws(':', {{ seed }}, {{ varargs|join(', ') }})) >> 11)::DOUBLE / 9007199254740992 {%- endmacro %}
{% macro columns(names) -%}
    {% for c in attributes %}{% for name in names %}{{ sql(name, c.i) }}{% if not loop.last %}, {% endif %}{% endfor %}{% if not loop.last %}, {% endif %}{% endfor %}
{%- endmacro %}
WITH RECURSIVE
-- A row a combination of values of the source: how many records have it.
true_cells AS MATERIALIZED (
    SELECT {% for c in attributes %}{{ c.value }} AS v{{ c.i }}, {% endfor %}count(*) AS records
    FROM {{ source }}
    GROUP BY ALL
),
-- A row a combination of published texts: how many records have it.
told_cells AS MATERIALIZED (
    SELECT {% for c in attributes %}CAST({{ c.published_value }} AS VARCHAR) COLLATE POSIX AS p{{ c.i }}, {% endfor %}count(*) AS records
    FROM {{ release }}
    GROUP BY ALL
),
{% for c in attributes %}
{{ reading(c) }}
-- A row a value: How many records stand before each value: a random one of them is where a predicate begins.
{{ 'domain'|of(c) }} AS MATERIALIZED (
    SELECT value, sum(records) OVER (ORDER BY value ASC) - records AS before, sum(records) OVER () AS filled
    FROM (
        SELECT {% if c.is_number %}t.v{{ c.i }}{% else %}l.place{% endif %} AS value, sum(t.records)::BIGINT AS records
        FROM true_cells AS t
        {% if not c.is_number %}JOIN {{ 'leaf'|of(c) }} AS l ON l.value = t.v{{ c.i }}{% endif %}
        WHERE t.v{{ c.i }} IS NOT NULL
        GROUP BY ALL
    )
),
{% endfor %}
-- A row a combination of values of the source, as numbers: how many records have it.
true_tuples AS MATERIALIZED (
    SELECT
        {% for c in attributes %}coalesce({% if c.is_number %}t.v{{ c.i }}{% else %}l{{ c.i }}.place{% endif %}, '-inf'::DOUBLE) AS v{{ c.i }}, {% endfor %}
        t.records::DOUBLE AS records
    FROM true_cells AS t
    {% for c in attributes if not c.is_number %}
    LEFT JOIN {{ 'leaf'|of(c) }} AS l{{ c.i }} ON l{{ c.i }}.value = t.v{{ c.i }}
    {% endfor %}
),
-- A row a combination of ranges of the release: how many records have it.
told_tuples AS MATERIALIZED (
    SELECT {{ columns(('low', 'high')) }}, {% for c in attributes if c.is_averaged %}mid{{ c.i }}, {% endfor %}sum(records)::DOUBLE AS records
    FROM (
        SELECT
            {% for c in attributes %}
            {% for end in ('low', 'high') %}
            coalesce(r{{ c.i }}.{{ sql(end) }}, CASE WHEN t.p{{ c.i }} IS NOT NULL THEN w{{ c.i }}.{{ sql(end) }} END, '-inf'::DOUBLE) AS {{ sql(end, c.i) }},
            {% endfor %}
            {% if c.is_averaged %}r{{ c.i }}.low / 2 + r{{ c.i }}.high / 2 AS mid{{ c.i }},{% endif %}
            {% endfor %}
            t.records
        FROM told_cells AS t
        {% for c in attributes %}
        LEFT JOIN {{ 'read'|of(c) }} AS r{{ c.i }} ON r{{ c.i }}.published = t.p{{ c.i }}
        CROSS JOIN {{ 'whole'|of(c) }} AS w{{ c.i }}
        {% endfor %}
    )
    GROUP BY ALL
),
-- One row: how many records and published combinations there are.
facts AS MATERIALIZED (
    SELECT
        (SELECT coalesce(sum(records), 0) FROM true_cells) AS records,
        (SELECT count(*) FROM told_cells) AS told
),
-- One row: the first reason to refuse the call, or NULL.
problem AS MATERIALIZED (
    SELECT coalesce(
        {{ moved(sources) }}
        CASE WHEN facts.records = 0 THEN {{ say.empty }} WHEN facts.told = 0 THEN {{ say.empty_release }} END,
        {% for c in attributes %}
        {{ unfit(c) }}
        CASE WHEN NOT EXISTS (FROM {{ 'domain'|of(c) }}) THEN {{ c.say.no_values }} END,
        {% endfor %}
        NULL
    ) AS message
    FROM facts
),
-- A row a query: how many predicates it has, and the columns in random order. Query n has 1 + (n - 1) % {{ most }}
-- predicates, on the columns whose hashes are least.
drawn AS MATERIALIZED (
    SELECT query, predicates, list_sort(list_transform(
        range({{ attributes|length }}), lambda j: [md5_number_lower(concat_ws(':', {{ seed }}, query, 'column', j)), j]
    ), 'ASC', 'NULLS LAST') AS columns
    FROM (SELECT n AS query, 1 + (n - 1) % {{ most }} AS predicates FROM range(1, {{ count }} + 1) AS numbers (n))
),
-- A row a query: the columns that it selects by, and the one it averages.
asked AS MATERIALIZED (
    SELECT
        query, predicates, pow({{ selectivity }}, 1.0 / predicates) AS share,
        list_transform(columns[:predicates], lambda z: z[2]) AS selects,
        {# Averages are of a column without a predicate, where there is one. #}
        list_filter(list_concat(
            list_transform(columns[predicates + 1:], lambda z: z[2]), list_transform(columns[:predicates], lambda z: z[2])
        ), lambda j: list_contains([{% for c in attributes if c.is_averaged %}{{ c.i }}{% if not loop.last %}, {% endif %}{% endfor %}]::INTEGER[], j::INTEGER))[1] AS averages
    FROM drawn
),
{% for c in attributes %}
-- A row a query with a predicate on this column: its range. From the record at a random place to the one that lies a
-- share of all of them further.
{{ 'range'|of(c) }} AS MATERIALIZED (
    SELECT r.query, a.value AS low, b.value AS high
    FROM (
        SELECT query, floor(begins * (filled - width))::BIGINT AS first, floor(begins * (filled - width))::BIGINT + width - 1 AS last
        FROM (
            SELECT query, {{ chance(sql('query'), sql("'range'"), c.i) }} AS begins, filled, greatest(1, round(share * filled))::BIGINT AS width
            FROM asked
            CROSS JOIN (SELECT max(filled)::BIGINT AS filled FROM {{ 'domain'|of(c) }})
            WHERE list_contains(selects, {{ c.i }})
        )
    ) AS r
    ASOF JOIN {{ 'domain'|of(c) }} AS a ON r.first >= a.before
    ASOF JOIN {{ 'domain'|of(c) }} AS b ON r.last >= b.before
),
{% endfor %}
-- A row a query: its ranges in all columns.
queries AS MATERIALIZED (
    SELECT
        a.query, a.averages{% for c in attributes %},
        coalesce(r{{ c.i }}.low, '-inf'::DOUBLE) AS a{{ c.i }}, coalesce(r{{ c.i }}.high, 'inf'::DOUBLE) AS b{{ c.i }}{% endfor %}
    FROM asked AS a
    {% for c in attributes %}
    LEFT JOIN {{ 'range'|of(c) }} AS r{{ c.i }} ON r{{ c.i }}.query = a.query
    {% endfor %}
    {# Nothing is worth its time where nothing can be answered. #}
    WHERE (SELECT message FROM problem) IS NULL
),
{% macro averaged(prefix) -%}
    {% if averaging %}CASE q.averages {% for c in attributes if c.is_averaged %}WHEN {{ c.i }} THEN t.{{ sql(prefix, c.i) }} {% endfor %}END{% else %}NULL::DOUBLE{% endif %}
{%- endmacro %}
-- A row a query: its answer on the source. CASE, as a join on many inequalities would sort; every query meets every
-- tuple, and most leave at once.
true_answers AS MATERIALIZED (
    SELECT query, sum(records) AS records, sum(records * x) FILTER (WHERE isfinite(x)) / sum(records) FILTER (WHERE isfinite(x)) AS average
    FROM (
        SELECT q.query, t.records, {{ averaged('v') }} AS x
        FROM true_tuples AS t
        CROSS JOIN queries AS q
        WHERE {% for c in attributes %}{% if not loop.first %} AND {% endif %}CASE WHEN t.v{{ c.i }} >= q.a{{ c.i }} THEN t.v{{ c.i }} <= q.b{{ c.i }} ELSE false END{% endfor %}
    )
    GROUP BY query
),
-- A row a query: its answer on the release.
told_answers AS MATERIALIZED (
    SELECT query, sum(records) AS records, sum(records * x) FILTER (WHERE x IS NOT NULL) / nullif(sum(records) FILTER (WHERE x IS NOT NULL), 0) AS average
    FROM (
        SELECT
            q.query, {{ averaged('mid') }} AS x,
            t.records{% for c in attributes %}
            * CASE
                WHEN t.high{{ c.i }} = t.low{{ c.i }} OR (q.a{{ c.i }} <= t.low{{ c.i }} AND t.high{{ c.i }} <= q.b{{ c.i }}) THEN 1
                ELSE (least(t.high{{ c.i }}, q.b{{ c.i }}) / 2 - greatest(t.low{{ c.i }}, q.a{{ c.i }}) / 2 + {{ c.step }} / 2) / (t.high{{ c.i }} / 2 - t.low{{ c.i }} / 2 + {{ c.step }} / 2)
            END{% endfor %} AS records
        FROM told_tuples AS t
        CROSS JOIN queries AS q
        WHERE {% for c in attributes %}{% if not loop.first %} AND {% endif %}CASE WHEN t.high{{ c.i }} >= q.a{{ c.i }} THEN t.low{{ c.i }} <= q.b{{ c.i }} ELSE false END{% endfor %}
    )
    GROUP BY query
),
-- A row a column that is averaged: its range, which errors of averages are measured by.
scales AS MATERIALIZED (
    SELECT * FROM (VALUES (-1, 0.0::DOUBLE){% for c in attributes if c.is_averaged %}, ({{ c.i }}, (SELECT max(value) - min(value) FROM {{ 'domain'|of(c) }})){% endfor %}) AS s (averages, width)
),
-- A row a query and a kind of answer: its relative error.
errors AS MATERIALIZED (
    SELECT a.predicates, e.kind, round(e.error, 9) AS error
    FROM asked AS a
    JOIN scales AS s ON s.averages = coalesce(a.averages, -1)
    LEFT JOIN true_answers AS t ON t.query = a.query
    LEFT JOIN told_answers AS o ON o.query = a.query
    CROSS JOIN facts
    CROSS JOIN LATERAL (
        SELECT 'count' AS kind, abs(coalesce(o.records, 0) - coalesce(t.records, 0)) / greatest(coalesce(t.records, 0), {{ error_floor }} * facts.records) AS error
        UNION ALL
        {# A question that the release does not answer is answered wrongly, not left out. #}
        SELECT 'average', CASE
            WHEN o.average IS NULL THEN 1
            WHEN o.average = t.average THEN 0
            ELSE abs(o.average - t.average) / greatest(abs(t.average), {{ error_floor }} * s.width)
        END
        WHERE t.average IS NOT NULL
    ) AS e
)
SELECT e.kind, e.predicates, e.queries, e.median, e.p95, e.mean
FROM problem AS p
LEFT JOIN (
    SELECT
        kind, predicates, count(*) AS queries, round(quantile_cont(error, 0.5), 9) AS median, round(quantile_cont(error, 0.95), 9) AS p95,
        round(avg(error), 9) AS mean
    FROM errors
    GROUP BY kind, predicates
) AS e ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY e.kind DESC, e.predicates ASC
