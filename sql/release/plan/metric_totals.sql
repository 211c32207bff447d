{#- One row per metric; each metric is a file in release/metrics/. -#}
{%- from 'shared/record_assignment.sql' import records, shown_values with context -%}
{% set people = sql('persons') if person else sql('size') %}
{% set plain = unchanged|rejectattr('is_link')|list %}
{% set numbers = quasi|selectattr('is_number')|list %}
{% set losses = ['loss', 'edges', 'leaves'] + (['number_loss'] if numbers else []) %}
-- One row: the totals from which most metrics follow, side by side. Losses are added as decimals, in any order.
totals AS MATERIALIZED (
    SELECT *
    FROM (SELECT sum(size) AS records_in FROM source)
    POSITIONAL JOIN (SELECT sum(size) AS n_assigned, {% if suppress %}\
        coalesce(sum(size) FILTER (WHERE class_id = -1), 0){% else %}0{% endif %} AS suppressed FROM record_classes)
    POSITIONAL JOIN (SELECT count(*) AS clusters, sum(size::HUGEINT * size) AS squares_of_clusters \
        FROM {% if noise %}sized_classes{% else %}cluster_spans{% endif %})
    {% if person %}
    POSITIONAL JOIN (SELECT count(DISTINCT person) AS n_persons FROM {{ records() }})
    {% endif %}
    {% if plain and not noise %}
    POSITIONAL JOIN (
        SELECT
            min(greatest(persons, 1)) FILTER (WHERE class_id IS NOT NULL) AS least_equal, \
            coalesce(sum(size) FILTER (WHERE class_id IS NULL AND persons <= 1), 0) AS n_unique
        FROM (
            {% set columns %}{{ shown_values(plain) }}{% endset %}
            SELECT class_id, sum({% if person %}l.size{% else %}size{% endif %}) AS size, \
                {% if person %}count(DISTINCT person){% else %}sum(size){% endif %} AS persons
            FROM {% if person %}{{ records() }}{% else %}released_values{% endif +%}
            GROUP BY GROUPING SETS ((class_id, {{ columns }}), ({{ columns }}))
        )
    )
    {% endif %}
    {% if not noise %}
    POSITIONAL JOIN (
        SELECT
            sum(class_error ORDER BY is_number ASC, attribute ASC) AS class_error, \
            sum(cluster_error ORDER BY is_number ASC, attribute ASC) AS cluster_error\
            {% if numbers %}, avg(sse_share ORDER BY attribute ASC) AS sse_share{% endif +%}
        FROM column_totals
    )
    {% endif %}
    POSITIONAL JOIN (
        SELECT
            sum(size) AS records, count(*) AS classes, sum(size::HUGEINT * size) AS squares_of_classes, \
            max(size) AS largest, min({{ people }}) AS smallest\
            {% if not noise %}, sum((size::DOUBLE / {{ people }})::DECIMAL(38, 12))::DOUBLE AS risk\
            {% for loss in losses %}, \
            sum((size * {{ sql(loss) }})::DECIMAL(38, 12))::DOUBLE AS {{ sql(loss) }}{% endfor %}{% endif +%}
        FROM sized_classes{% if not noise %} JOIN (
            SELECT
                class_id, sum(edges ORDER BY attribute ASC) AS edges, sum(leaves ORDER BY attribute ASC) AS leaves\
                {% if numbers %}, \
                sum(loss ORDER BY attribute ASC) FILTER (WHERE attribute IN ({% for q in numbers %}{{ q.i }}\
                {{ sql(', ') if not loop.last }}{% endfor %})) AS number_loss{% endif +%}
            FROM column_losses GROUP BY class_id
        ) USING (class_id){% endif +%}
    )
),
-- One row per metric and column (detail): the values of metrics that exist for each column.
column_metrics AS (
    {% for form, condition in (('number', sql(' WHERE is_number')), ('column', sql(''))) %}
    {% set chosen = metrics|selectattr('per', 'equalto', form)|list %}
    {% if chosen %}
    SELECT
        {% if chosen|length == 1 %}
        {{ chosen[0].name }} AS metric, detail, {{ chosen[0].value }} AS value FROM column_totals{{ condition }}
        {% else %}
        unnest([{% for m in chosen %}{{ m.name }}{{ sql(', ') if not loop.last }}{% endfor %}]) AS metric, detail,
        unnest([{% for m in chosen %}{{ m.value }}{{ sql(', ') if not loop.last }}{% endfor %}]) AS value
    FROM column_totals{{ condition }}
        {% endif %}
    UNION ALL
    {% endif %}
    {% endfor %}
    {% for m in metrics if m.sql %}
    {{ m.sql }}
    {% if not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
),
-- One row per metric and column: its value, and what it measures.
metric_rows AS MATERIALIZED (
    SELECT
        place, m.metric || coalesce(':' || detail, '') AS metric, round(coalesce(c.value, m.value), 12) AS value, \
        better, description, is_publishable
    FROM totals CROSS JOIN LATERAL (
        VALUES
        {% for m in metrics %}
        ({{ m.position }}, {{ m.name }}, {% if m.value and not m.per %}{{ m.value }}{% else %}NULL{% endif %}, \
            {{ m.better }}, {{ m.is_publishable }}, {{ m.description }}){% if not loop.last %},{% endif +%}
        {% endfor %}
    ) AS m (place, metric, value, better, is_publishable, description)
    LEFT JOIN column_metrics AS c USING (metric)
    {% set optional = metrics|selectattr('is_optional')|list %}
    {% if optional %}
    WHERE c.metric IS NOT NULL OR m.metric NOT IN (\
        {% for m in optional %}{{ m.name }}{{ sql(', ') if not loop.last }}{% endfor %})
    {% endif %}
),
{% include 'gate/gate_metrics.sql' %}
SELECT metric, value, better, description, is_publishable
FROM metric_rows
WHERE (SELECT passed FROM gate) AND (SELECT passed FROM stated_check)
ORDER BY place ASC, metric ASC
