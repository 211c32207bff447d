{#- The gate of the metrics of a stream: those that leave (metric_rows) compared with the same by the gate's own
    formulas. -#}
-- One row per published record: whether it was published when its class was first seen.
numbered AS MATERIALIZED (
    SELECT *, rank() OVER (PARTITION BY class_id ORDER BY published_at ASC) = 1 AS is_first
    FROM replayed_records
    WHERE class_id IS NOT NULL
),
-- One row: true, or an error if a metric differs from the result of the gate's own formula.
stated_check AS MATERIALIZED (
    SELECT CASE WHEN NOT (SELECT passed FROM gate) THEN false \
        WHEN count(*) FILTER (WHERE m.value IS DISTINCT FROM o.value \
        AND NOT coalesce(abs(m.value - o.value) <= 1e-9 * greatest(1, o.value), false)) > 0 \
        OR count(*) > count(DISTINCT o.metric) THEN error({{ gate_say.stated }}) ELSE true END AS passed
    FROM (
        SELECT 'records' AS metric, count(*)::DOUBLE AS value FROM source
        UNION ALL
        SELECT 'average_delay', sum({{ stream.published_at }} - {{ stream.arrived_at }})::DOUBLE / count(*) \
            FROM published_rows
        UNION ALL
        SELECT 'delay', max({{ stream.published_at }} - {{ stream.arrived_at }}) FROM published_rows
        UNION ALL
        SELECT 'suppression', 1 - (SELECT count({{ class_id }}) FROM published_rows) / count(*)::DOUBLE FROM source
        UNION ALL
        SELECT 'classes', count(DISTINCT {{ class_id }}) FROM published_rows
        UNION ALL
        SELECT 'reuse', count(*) FILTER (WHERE NOT is_first) / nullif(count(*), 0)::DOUBLE FROM numbered
        UNION ALL
        SELECT 'k', min(size) FROM (SELECT count(DISTINCT person) AS size FROM numbered WHERE is_first \
            GROUP BY class_id)
        {% for s in model_columns if s.models %}
        UNION ALL
        SELECT {{ s.different_label }}, min(size)
        FROM (SELECT count(DISTINCT {{ 'code'|of(s) }}) FILTER (WHERE person IS NOT NULL) AS size FROM numbered \
            WHERE is_first GROUP BY class_id)
        {% endfor %}
    ) AS o
    LEFT JOIN metric_rows AS m USING (metric)
)
