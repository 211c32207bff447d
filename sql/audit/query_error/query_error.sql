{#- query_error('release', 'source', ...): relative error of random counts and averages, by number of predicates.
    Every value is a number, every published value an interval of them: numbers and dates are themselves, categories are
    their place among the leaves. Missing values are -infinity, which no predicate selects. -#}
{%- from 'audit/query_error/column_readings.sql' import column_problems, first_column_problem -%}
{%- from 'audit/query_error/column_readings.sql' import leaf_joins, ranges, readings -%}
{%- from 'audit/query_error/column_readings.sql' import table_problems, value_of -%}
{%- macro random_fraction() -%}
    (md5_number_lower(concat_ws(':', {{ seed }}, {{ varargs|join(', ') }})) >> 11)::DOUBLE / 9007199254740992
{%- endmacro -%}
{%- macro averaged(step) -%}
    {%- if averaging -%}
    CASE q.averages
        {%- for c in attributes if c.is_averaged %}

            WHEN {{ c.i }} THEN t.{{ step|of(c) if step else c.column }}
        {%- endfor %} END
    {%- else -%}
    NULL::DOUBLE
    {%- endif -%}
{%- endmacro -%}
WITH RECURSIVE
-- One row per combination of values of the source: its number of records.
source_cells AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        {{ c.value }} AS {{ c.column }},
        {% endfor %}
        count(*) AS records
    FROM {{ source }}
    GROUP BY ALL
),
-- One row per combination of published texts: its number of records.
published_cells AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        CAST({{ c.published_value }} AS VARCHAR) COLLATE POSIX AS {{ c.column }},
        {% endfor %}
        count(*) AS records
    FROM {{ release }}
    GROUP BY ALL
),
{{ readings(attributes) }}
{{ ranges(attributes) }}
-- One row per combination of values of the source, as numbers: its number of records.
source_tuples AS MATERIALIZED (
    SELECT
        {% for c in attributes %}
        coalesce({{ value_of(c) }}, '-inf'::DOUBLE) AS {{ c.column }},
        {% endfor %}
        t.records::DOUBLE AS records
    FROM source_cells AS t
    {{ leaf_joins(attributes) }}
),
-- One row per value of a column: the number of records before it. A predicate begins at the value of a random record.
domains AS MATERIALIZED (
    SELECT
        attribute, value, sum(records) OVER (PARTITION BY attribute ORDER BY value ASC) - records AS records_before,
        sum(records) OVER (PARTITION BY attribute) AS not_null_records
    FROM (
        {% for c in attributes %}
        SELECT {{ c.i }} AS attribute, {{ value_of(c) }} AS value, sum(t.records)::BIGINT AS records
        FROM source_cells AS t
        {{ leaf_joins([c]) }}
        WHERE {{ value_of(c) }} IS NOT NULL
        GROUP BY ALL
        {% if not loop.last %}UNION ALL{% endif +%}
        {% endfor %}
    )
),
-- One row per combination of intervals of the release: its number of records.
published_tuples AS MATERIALIZED (
    SELECT * EXCLUDE (records), sum(records)::DOUBLE AS records
    FROM (
        SELECT
            {% for c in attributes %}
            {% set reading = 'reading'|of(c) %}
            {% set range = 'range'|of(c) %}
            {% for end in ('low', 'high') %}
            coalesce(
                {{ reading }}.{{ sql(end) }},
                CASE WHEN t.{{ c.column }} IS NOT NULL THEN {{ range }}.{{ sql(end) }} END,
                '-inf'::DOUBLE
            ) AS {{ end|of(c) }},
            {% endfor %}
            {% if c.is_averaged %}
            {{ reading }}.low / 2 + {{ reading }}.high / 2 AS {{ 'middle'|of(c) }},
            {% endif %}
            {% endfor %}
            t.records
        FROM published_cells AS t
        {% for c in attributes %}
        {% set reading = 'reading'|of(c) %}
        {% set range = 'range'|of(c) %}
        LEFT
        JOIN readings AS {{ reading }}
            ON {{ reading }}.attribute = {{ c.key }} AND {{ reading }}.published = t.{{ c.column }}
        LEFT JOIN column_ranges AS {{ range }} ON {{ range }}.attribute = {{ c.key }}
        {% endfor %}
    )
    GROUP BY ALL
),
-- One row: the number of records of the source, and of combinations in the release.
sizes AS MATERIALIZED (
    SELECT
        (SELECT coalesce(sum(records), 0) FROM source_cells) AS records,
        (SELECT count(*) FROM published_cells) AS published_combinations
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
        {% for c in attributes %}
        CASE WHEN NOT EXISTS (FROM domains WHERE attribute = {{ c.i }}) THEN {{ c.texts.no_values }} END,
        {% endfor %}
        NULL
    ) AS message
    FROM sizes
),
-- One row per query: its number of predicates, and the columns in random order. Query n has
-- 1 + (n - 1) % {{ most }} predicates, on the columns with the least hashes.
column_orders AS MATERIALIZED (
    SELECT query, predicates, list_sort(list_transform(
        range({{ attributes|length }}), lambda j: [md5_number_lower(concat_ws(':', {{ seed }}, query, 'column', j)), j]
    ), 'ASC', 'NULLS LAST') AS columns
    FROM (SELECT n AS query, 1 + (n - 1) % {{ most }} AS predicates FROM range(1, {{ count }} + 1) AS numbers (n))
),
-- One row per query: the columns of its predicates, and the column that it averages, without a predicate if possible.
query_columns AS MATERIALIZED (
    SELECT
        query, predicates, pow({{ selectivity }}, 1.0 / predicates) AS share,
        list_transform(columns[:predicates], lambda z: z[2]) AS predicate_columns,
        list_filter(list_concat(
            list_transform(columns[predicates + 1:], lambda z: z[2]),
            list_transform(columns[:predicates], lambda z: z[2])
        ),
            lambda j: list_contains([{% for c in attributes if c.is_averaged %}{{ c.i }}{% if not loop.last %},
                {% endif %}{% endfor %}]::INTEGER[], j::INTEGER))[1] AS averages
    FROM column_orders
),
-- One row per predicate of a query: its interval, from the value of a random record to that of the record which lies a
-- share of all records further.
predicates AS MATERIALIZED (
    SELECT r.query, r.attribute, a.value AS low, b.value AS high
    FROM (
        SELECT
            query, attribute, floor(start_fraction * (not_null_records - width))::BIGINT AS first_record,
            floor(start_fraction * (not_null_records - width))::BIGINT + width - 1 AS last_record
        FROM (
            SELECT
                q.query, d.attribute, d.not_null_records,
                {{ random_fraction(sql('q.query'), sql("'range'"), sql('d.attribute')) }} AS start_fraction,
                greatest(1, round(q.share * d.not_null_records))::BIGINT AS width
            FROM query_columns AS q
            JOIN (
                SELECT attribute, max(not_null_records)::BIGINT AS not_null_records FROM domains GROUP BY attribute
            ) AS d ON list_contains(q.predicate_columns, d.attribute)
        )
    ) AS r
    ASOF JOIN domains AS a ON a.attribute = r.attribute AND r.first_record >= a.records_before
    ASOF JOIN domains AS b ON b.attribute = r.attribute AND r.last_record >= b.records_before
),
-- One row per query: its intervals in all columns. There is none if a problem is found.
queries AS MATERIALIZED (
    SELECT
        q.query, any_value(q.averages) AS averages,
        {% for c in attributes %}
        coalesce(any_value(p.low) FILTER (WHERE p.attribute = {{ c.i }}), '-inf'::DOUBLE) AS {{ 'low'|of(c) }},
        coalesce(any_value(p.high) FILTER (WHERE p.attribute = {{ c.i }}), 'inf'::DOUBLE)
            AS {{ 'high'|of(c) }}{% if not loop.last %},{% endif +%}
        {% endfor %}
    FROM query_columns AS q
    LEFT JOIN predicates AS p ON p.query = q.query
    WHERE (SELECT message FROM problems) IS NULL
    GROUP BY q.query
),
-- One row per query: its answer on the source. CASE, because a join on many inequalities would sort; every query meets
-- every tuple, and most are dropped at the first column.
source_answers AS MATERIALIZED (
    SELECT
        query, sum(records) AS records,
        sum(records * x) FILTER (WHERE isfinite(x)) / sum(records) FILTER (WHERE isfinite(x)) AS average
    FROM (
        SELECT q.query, t.records, {{ averaged(none) }} AS x
        FROM source_tuples AS t
        CROSS JOIN queries AS q
        WHERE
            {% for c in attributes %}
            {% if not loop.first %}AND {% endif %}CASE
                WHEN t.{{ c.column }} >= q.{{ 'low'|of(c) }} THEN t.{{ c.column }} <= q.{{ 'high'|of(c) }}
                    ELSE false END
            {% endfor %}
    )
    GROUP BY query
),
-- One row per query: its answer on the release, where a record counts with the share of its intervals that is selected.
published_answers AS MATERIALIZED (
    SELECT
        query, sum(records) AS records,
        sum(records * x) FILTER (WHERE x IS NOT NULL) / nullif(sum(records) FILTER (WHERE x IS NOT NULL), 0) AS average
    FROM (
        SELECT
            q.query, {{ averaged('middle') }} AS x,
            t.records
            {% for c in attributes %}
            {% set low = 'low'|of(c) %}
            {% set high = 'high'|of(c) %}
            * CASE
                WHEN t.{{ high }} = t.{{ low }} OR (q.{{ low }} <= t.{{ low }} AND t.{{ high }} <= q.{{ high }}) THEN 1
                ELSE (least(t.{{ high }}, q.{{ high }}) / 2 - greatest(t.{{ low }}, q.{{ low }}) / 2 + {{ c.step }} / 2)
                    / (t.{{ high }} / 2 - t.{{ low }} / 2 + {{ c.step }} / 2)
            END
            {% endfor %}
            AS records
        FROM published_tuples AS t
        CROSS JOIN queries AS q
        WHERE
            {% for c in attributes %}
            {% set low = 'low'|of(c) %}
            {% set high = 'high'|of(c) %}
            {% if not loop.first %}AND {% endif %}CASE WHEN t.{{ high }} >= q.{{ low }} THEN t.{{ low }} <= q.{{ high }}
                ELSE false END
            {% endfor %}
    )
    GROUP BY query
),
-- One row per query and kind of answer: its relative error. The divisor of averages is at least a share of the range of
-- the averaged column.
errors AS MATERIALIZED (
    SELECT q.predicates, e.kind, round(e.error, 9) AS error
    FROM query_columns AS q
    LEFT JOIN (SELECT attribute, max(value) - min(value) AS width FROM domains GROUP BY attribute) AS r
        ON r.attribute = q.averages
    LEFT JOIN source_answers AS s ON s.query = q.query
    LEFT JOIN published_answers AS o ON o.query = q.query
    CROSS JOIN sizes
    CROSS JOIN LATERAL (
        SELECT
            'count' AS kind, abs(coalesce(o.records, 0) - coalesce(s.records, 0))
                / greatest(coalesce(s.records, 0), {{ error_floor }} * sizes.records) AS error
        UNION ALL
        {# A question that the release does not answer counts as a wrong answer. #}
        SELECT 'average', CASE
            WHEN o.average IS NULL THEN 1
            WHEN o.average = s.average THEN 0
            ELSE abs(o.average - s.average) / greatest(abs(s.average), {{ error_floor }} * r.width)
        END
        WHERE s.average IS NOT NULL
    ) AS e
)
SELECT e.kind, e.predicates, e.queries, e.median, e.p95, e.mean
FROM problems AS p
LEFT JOIN (
    SELECT
        kind, predicates, count(*) AS queries, round(quantile_cont(error, 0.5), 9) AS median,
        round(quantile_cont(error, 0.95), 9) AS p95, round(avg(error), 9) AS mean
    FROM errors
    GROUP BY kind, predicates
) AS e ON true
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY e.kind DESC, e.predicates ASC
