{#- One row per metric; each metric is a file in release/metrics/. -#}
{#- A sum over columns in their order, on which the last digit depends. Few columns are added without sorting them. -#}
{% macro sum_in_order(name, columns) -%}
{% if is_wide or not columns %}coalesce(sum({{ sql(name) }} ORDER BY attribute ASC), 0.0){% else %}\
{% for q in columns %}{% if not loop.first %} + {% endif %}coalesce(max({{ sql(name) }}) \
FILTER (WHERE attribute = {{ q.i }}), 0.0){% endfor %}{% endif %}
{%- endmacro %}
{% set numbers = quasi|selectattr('is_number')|list %}
{% set people = sql('persons') if person else sql('size') %}
-- One row: totals from which most metrics follow.
totals AS MATERIALIZED (
    SELECT *, {{ quasi|length }} AS attributes, \
        {{ quasi|selectattr('is_number')|list|length }} AS n_numbers, {{ k }} AS k
    FROM
        (SELECT sum(size) AS records_in FROM source) AS input_totals,
        (SELECT sum(size) AS n_assigned, coalesce(sum(size) FILTER (WHERE class_id = -1), 0) AS suppressed
            FROM record_classes) AS assignment_totals,
        (SELECT count(*) AS clusters, sum(size::HUGEINT * size) AS squares_of_clusters
            FROM {% if noise %}sized_classes{% else %}cluster_spans{% endif %}) AS cluster_totals,
        (SELECT
            sum(size) AS records, count(*) AS classes, sum(size::HUGEINT * size) AS squares_of_classes,
            max(size) AS largest, min({{ people }}) AS smallest\
            {% if not noise %},
            sum((size * loss)::DECIMAL(38, 12))::DOUBLE AS loss,
            sum((size::DOUBLE / {{ people }})::DECIMAL(38, 12))::DOUBLE AS risk{% endif +%}
            FROM sized_classes) AS class_totals{% if not noise %},
        (SELECT
            sum((size * edges)::DECIMAL(38, 12))::DOUBLE AS edges, \
            sum((size * leaves)::DECIMAL(38, 12))::DOUBLE AS leaves,
            sum((size * numbers)::DECIMAL(38, 12))::DOUBLE AS numbers
            FROM (
                SELECT
                    class_id, {{ sum_in_order('edges', quasi) }} AS edges,
                    {{ sum_in_order('leaves', quasi) }} AS leaves,
                    {{ sum_in_order('number', numbers) }} AS numbers
                FROM column_losses GROUP BY class_id
            ) JOIN sized_classes USING (class_id)) AS loss_totals,
        (SELECT sum(class_error ORDER BY is_number ASC, attribute ASC) AS class_error,
            sum(cluster_error ORDER BY is_number ASC, attribute ASC) AS cluster_error FROM square_errors) \
            AS error_totals{% endif +%}
),
-- One row per metric and column of which it is (detail): its value.
metric_values AS (
    SELECT NULL AS detail, unnest([
        {% for m in metrics if m.value %}
        {'metric': {{ m.name }}, 'value': {{ m.value }}}{% if not loop.last %},{% endif +%}
        {% endfor %}
    ], max_depth := 2)
    FROM totals
    {% for m in metrics if m.sql %}
    UNION ALL
    SELECT detail, {{ m.name }} AS metric, value::DOUBLE AS value
    FROM ({{ m.sql }})
    {% endfor %}
),
-- One row per metric: what it measures, and whether it may be published.
metric_texts AS (
    FROM (
        VALUES
    {% for m in metrics %}
        ({{ m.position }}, {{ m.name }}, {{ m.better }}, {{ m.is_publishable }}, {{ m.description }})\
        {% if not loop.last %},{% endif +%}
    {% endfor %}
    ) AS texts (place, metric, better, is_publishable, description)
),
-- One row per metric and column: all that is returned.
metric_rows AS MATERIALIZED (
    SELECT
        t.place, v.metric || coalesce(':' || v.detail, '') AS metric, round(v.value, 12) AS value, t.better, \
        t.description, t.is_publishable
    FROM metric_values AS v JOIN metric_texts AS t USING (metric)
),
{% include 'gate/gate_metrics.sql' %}
SELECT metric, value, better, description, is_publishable
FROM metric_rows
WHERE (SELECT passed FROM gate) AND (SELECT passed FROM stated_check)
ORDER BY place ASC, metric ASC
