{#- tradeoffs('table', ...): one row per configuration. Metrics are computed on one encoding of the table; attacks are
    run on the release that the configuration's statement makes. -#}
WITH
-- One row per configuration and metric.
configuration_metrics AS MATERIALIZED (FROM {{ figures }}),
-- One row per configuration: its metrics.
figures AS (
    SELECT
        run, any_value(problem) AS problem,
        {% for m in metrics %}any_value(mean)
            FILTER (WHERE metric = '{{ sql(m) }}') AS {{ sql(m) }}{{ sql(', ') if not loop.last }}{% endfor %}
    FROM configuration_metrics
    GROUP BY run
),
-- One row per configuration: the results of attacks on its release.
answers AS (
    {% for q in questions if q %}
    FROM (
        WITH "dbanon configuration" AS MATERIALIZED (
            {{ q.release }}
        )
        SELECT
            {{ q.number }} AS run,
            {% for a in q.attacks %}
            {% if not loop.first %},
            {% endif %}(SELECT max(value) FROM ({{ a.sql }}) WHERE name = {{ a.name }}) AS {{ sql(a.kind) }}
            {% endfor %}
    )
    UNION ALL BY NAME
    {% endfor %}
    SELECT NULL::INTEGER AS run{% for a in attacks %}, NULL::DOUBLE AS {{ sql(a) }}{% endfor +%}
),
-- One row per configuration: settings, metrics, results of attacks and the statement that makes the release.
configurations AS MATERIALIZED (
    SELECT c.*, f.* EXCLUDE (run), a.* EXCLUDE (run), {{ sql(cost) }} AS cost
    FROM (
        {% for c in configurations %}
        SELECT
            {{ loop.index0 }} AS place, {{ c.algorithm }} AS algorithm, {{ c.k }} AS k, {{ c.l }} AS l, {{ c.t }} AS t,
            {{ c.statement }} AS statement
        {% if not loop.last %}UNION ALL{% endif +%}
        {% endfor %}
    ) AS c
    LEFT JOIN figures AS f ON f.run = c.place
    LEFT JOIN answers AS a ON a.run = c.place
)
SELECT
    algorithm, k, l, t, precision, ncp, query_error, risk_highest, risk_average,
    homogeneous_share{% for a in attacks %}, {{ sql(a) }}{% endfor %}, suppressed,
    CASE WHEN problem IS NULL THEN NOT EXISTS (
        FROM configurations AS o
        WHERE o.problem IS NULL AND o.place <> c.place
            AND o.cost <= c.cost{% for r in risks %} AND {{ sql('o.', r) }} <= {{ sql('c.', r) }}{% endfor +%}
            AND (o.cost < c.cost{% for r in risks %} OR {{ sql('o.', r) }} < {{ sql('c.', r) }}{% endfor %})
    ) END AS frontier,
    statement, problem
FROM configurations AS c
ORDER BY place ASC
