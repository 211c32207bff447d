{#- risk('release', ...) and its single functions: one row per metric, with the classes that cause it. -#}
{%- from 'audit/query_error/column_readings.sql' import column_problems, first_column_problem -%}
{%- from 'audit/query_error/column_readings.sql' import leaf_joins, readings, table_problems -%}
{%- from 'audit/risk/published_cells.sql' import ends_of, inside, raw_cells, values_as_numbers with context -%}
{%- from 'audit/risk/risk_values.sql' import class_distortions, value with context -%}
{%- from 'audit/anonymity/inputs.sql' import class_order, class_struct with context -%}
{% include 'audit/anonymity/inputs.sql' %}
{% for r in raws %}
{{ raw_cells(r) }}
{% endfor %}
{% if attributes or others %}
{{ readings(attributes + others) }}
{% endif %}
{% if attributes or others %}
{{ column_problems(attributes + others, column_messages) }}
{% endif %}
{% if attributes %}
{{ class_distortions(attributes) }}
{% endif %}
{% if others %}
-- One row per class: the least and the greatest value that each column may have.
class_ends AS MATERIALIZED (
    {{ ends_of(others) }}
),
-- One row per combination of values in the population: the number of people who have it. Values that are missing from
-- a hierarchy fit no node.
population_tuples AS MATERIALIZED (
    SELECT
        {{ values_as_numbers(others) }}

        {% if raws[-1].person %}t.person{% else %}sum(t.records)::BIGINT AS records{% endif +%}
    FROM population_cells AS t
    {{ leaf_joins(others) }}
    WHERE true
    {% for c in others if not c.is_number %}
        AND (t.{{ c.column }} IS NULL OR {{ 'leaf'|of(c) }}.place IS NOT NULL)
    {% endfor %}
    GROUP BY ALL
),
-- One row per class: the number of people of the population who may be in it.
class_populations AS MATERIALIZED (
    SELECT
        k.class_id,
        {% if raws[-1].person %}count(DISTINCT t.person){% else %}sum(t.records)::BIGINT{% endif %} AS people
    FROM population_tuples AS t
    CROSS JOIN class_ends AS k
    WHERE
        {{ inside(others) }}

    GROUP BY k.class_id
),
{% endif %}
{% if sample %}
-- One row per class of the sample: those with the least hashes of what they publish, so that the order of rows does not
-- matter and their number is as requested.
sampled_classes AS MATERIALIZED (
    SELECT class_id
    FROM classes
    QUALIFY row_number() OVER (
        ORDER BY md5_number_lower(row('dbanon 1', {{ seed }}{% for q in quasi %},
            {{ q.column }}{% endfor %})::VARCHAR) ASC,
            {{ class_order() }}
    ) <= greatest(ceil(round(count(*) OVER () * {{ sample }}, 9)), 1)
),
{% endif %}
-- One row: the first reason why the tables do not fit together, or NULL.
misfits AS MATERIALIZED (
    SELECT coalesce(
{{ table_problems(sources) }}
        {% if attributes %}
        CASE WHEN NOT EXISTS (FROM source_cells) THEN {{ say.empty_source }} END,
        {% endif %}
        {% if attributes or others %}
        {{ first_column_problem() }},
        {% endif %}
        CASE WHEN NOT EXISTS (FROM classes) THEN {{ say.empty }} END
    ) AS message
),
-- One row per metric: the kind of value that it reads of classes, and how their total is formed.
metrics AS (
    SELECT * REPLACE (sensitive::VARCHAR AS sensitive)
    FROM (
        VALUES
        {% for m in metrics %}
        ({{ m.number }}, {{ m.name }}, {{ m.sensitive }}, {{ m.kind }}, {{ m.total }}, {{ m.description }})
        {%- if not loop.last %},{% endif +%}
        {% endfor %}
    ) AS m (number, name, sensitive, kind, total, description)
),
-- One row per kind of value and class: its value; classes without a row have the value 0.
risk_values AS MATERIALIZED (
    {% for kind in kinds %}
{{ value(kind) }}
    {% if not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
),
-- One row per metric and class: the value of the class.
class_values AS MATERIALIZED (
    {% set value_or_zero %}{% if sample %}v.value{% else %}coalesce(v.value, 0){% endif %}{% endset %}
    SELECT m.number, m.total, k.class_id, k.records, round({{ value_or_zero }}, 12)::DOUBLE AS value
    FROM metrics AS m
    CROSS JOIN classes AS k
    LEFT JOIN risk_values AS v ON v.kind = m.kind COLLATE POSIX AND v.class_id = k.class_id
),
-- One row per metric: its value over all classes.
totals AS MATERIALIZED (
    SELECT
        number,
        round(CASE any_value(total)
            WHEN 'highest' THEN max(value)
            WHEN 'lowest' THEN min(value)
            WHEN 'average' THEN sum(records * value) / sum(records)
            WHEN 'share_above' THEN coalesce(sum(records) FILTER (WHERE value > {{ threshold }}), 0) / sum(records)
            ELSE sum(value)
        END, 9)::DOUBLE AS value
    FROM class_values
    GROUP BY number
),
-- One row per metric: the classes that cause its value, the ten worst of them in order.
causes AS MATERIALIZED (
    SELECT
        v.number, count(*) AS classes, sum(k.records)::BIGINT AS records,
        arg_min(
            {'class': k.class, 'records': k.records, 'value': v.value},
            {'value': -v.value, 'records': -k.records, 'class': k.class},
            10
        ) AS worst
    FROM class_values AS v
    JOIN totals AS t USING (number)
    JOIN (SELECT class_id, records, {{ class_struct() }} AS class FROM classes) AS k USING (class_id)
    WHERE CASE v.total
        WHEN 'average' THEN round(v.value, 9) >= t.value AND v.value > 0
        WHEN 'share_above' THEN v.value > {{ threshold }}
        WHEN 'sum' THEN v.value > 0
        ELSE round(v.value, 9) = t.value
    END
    GROUP BY v.number
)
SELECT
    m.name, m.sensitive, t.value, coalesce(c.classes, 0) AS classes, coalesce(c.records, 0) AS records,
    coalesce(c.worst, []) AS worst, m.description
FROM misfits AS p
LEFT JOIN metrics AS m ON true
LEFT JOIN totals AS t ON t.number = m.number
LEFT JOIN causes AS c ON c.number = m.number
WHERE CASE WHEN p.message IS NULL THEN true ELSE error(p.message) END
ORDER BY m.number ASC
