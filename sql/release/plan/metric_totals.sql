{#- One row per metric; each metric is a file in metric/. -#}
-- One row: totals that the metrics read.
run AS MATERIALIZED (
    SELECT
        (SELECT sum(size) FROM source) AS records_in,
        class.records, class.groups AS classes, class.squares AS squares_of_classes,
        cluster.groups AS clusters, cluster.squares AS squares_of_clusters,
        {{ quasi|length }} AS attributes,
        {{ k }} AS k
    FROM (SELECT sum(size) AS records, count(*) AS groups, sum(size::HUGEINT * size) AS squares \
        FROM sized_classes) AS class,
        (SELECT count(*) AS groups, sum(size::HUGEINT * size) AS squares \
            FROM {% if noise %}sized_classes{% else %}cluster_spans{% endif %}) AS cluster
),
-- One row per metric: its value, and whether it may be published.
metric_rows AS MATERIALIZED (
    {% for m in metrics %}
    SELECT {{ m.position }} AS place, {{ m.name }} || coalesce(':' || detail, '') AS metric, \
        round(value::DOUBLE, 12) AS value, {{ m.better }} AS better, {{ m.description }} AS description, \
        {{ m.is_publishable }} AS is_publishable
    FROM ({{ m.sql }})
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
{% include 'gate/gate_metrics.sql' %}
SELECT metric, value, better, description, is_publishable
FROM metric_rows
WHERE (SELECT passed FROM gate) AND (SELECT passed FROM stated_check)
ORDER BY place ASC, metric ASC
