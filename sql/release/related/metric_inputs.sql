{#- The values of NAME_metrics of related tables, and the gate of it. -#}
{%- from 'gate/related_person_values.sql' import held with context -%}
-- One row per metric: its value, and whether it may be published. What does not follow from the released rows alone \
    is the
-- custodian's.
metric_rows AS MATERIALIZED (
    SELECT place, metric, round(value::DOUBLE, 12) AS value, better, description, is_publishable
    FROM (
        SELECT 1 AS place, 'persons' AS metric, sum(size) AS value, 'higher' AS better, \
            'Distinct persons in the release.' AS description, true AS is_publishable FROM distinct_rows
        UNION ALL
        SELECT 2, 'classes', count(*), 'higher', 'Classes of people of whom the same is published in all tables.', \
            true FROM distinct_rows
        UNION ALL
        SELECT 3, 'k', min(size), 'higher', 'Achieved k: least number of people in a class, over all tables.', true \
            FROM distinct_rows
        UNION ALL
        SELECT 4, 'risk_highest', 1.0::DOUBLE / min(size), 'lower', \
            'Highest re-identification risk: 1 / people of the smallest class.', true FROM distinct_rows
        UNION ALL
        SELECT 5, 'risk_average', count(*)::DOUBLE / sum(size), 'lower', \
            'Average re-identification risk: classes / people.', true FROM distinct_rows
    {% for t in tables %}
        UNION ALL
        SELECT {{ 10 + t.i }}, {{ t.measures.loss }}, coalesce(avg(loss), 0), 'lower', \
            'Mean loss of a published cell of the table, from 0 to 1.', false FROM {{ 'made'|of(t) }}
    {% endfor %}
    {% for t in tables %}
    {% for s in t.sensitive %}
        UNION ALL
        SELECT {{ 50 + t.i }}, {{ s.metric }}, min(least(different, people // greatest(most, 1))), 'higher', \
            'Achieved l by people: least number of different values in a class, or people of it for one who has the \
                value that most have.', true
        FROM ({{ held(t, s) }})
        HAVING count(*) > 0
    {% endfor %}
    {% endfor %}
    {% for t in children %}
        UNION ALL
        SELECT {{ 100 * t.i }}, {{ t.measures.rows }}, sum({{ 'row count'|of(t) }}), 'higher', \
            'Rows of the table that are published.', true FROM reader
        UNION ALL
        SELECT {{ 100 * t.i + 1 }}, {{ t.measures.rows_surplus }}, \
            sum(least({{ 'source rows'|of(t) }}, {{ cap }}) - {{ 'row count'|of(t) }}), 'lower', \
            'Rows left out because others of the class have fewer.', false FROM reader
        UNION ALL
        SELECT {{ 100 * t.i + 2 }}, {{ t.measures.rows_above_cap }}, \
            sum({{ 'source rows'|of(t) }} - least({{ 'source rows'|of(t) }}, {{ cap }})), 'lower', \
            'Rows left out because a person has more than max_children.', false FROM reader
    {% endfor %}
    )
),
-- One row: true, or an error if a metric differs from what the gate counts in the published rows.
stated_check AS MATERIALIZED (
    SELECT CASE WHEN NOT (SELECT passed FROM gate) THEN false \
        WHEN count(*) FILTER (WHERE NOT coalesce(abs(m.value - o.value) <= 1e-9 * greatest(1, o.value), false)) > 0 \
        OR count(*) > count(DISTINCT o.metric) THEN error({{ gate_say.stated }}) ELSE true END AS passed
    FROM (
        SELECT 'persons' AS metric, count(*)::DOUBLE AS value FROM {{ 'published rows'|of(parent) }}
        UNION ALL
        SELECT 'classes', count(DISTINCT {{ parent.names.class_id }}) FROM {{ 'published rows'|of(parent) }}
        UNION ALL
        SELECT 'risk_average', count(DISTINCT {{ parent.names.class_id }}) / count(*)::DOUBLE \
            FROM {{ 'published rows'|of(parent) }}
        UNION ALL
        SELECT unnest(['k', 'risk_highest']), unnest([min(people), 1 / min(people)])
        FROM (SELECT count(*)::DOUBLE AS people FROM {{ 'published rows'|of(parent) }} \
            GROUP BY {{ parent.names.class_id }})
        {% for t in children %}
        UNION ALL
        SELECT {{ t.measures.rows }}, count(*) FROM {{ 'published rows'|of(t) }}
        {% endfor %}
        {% for t in tables %}
        {% for s in t.sensitive %}
        UNION ALL
        {# For each class that has rows: its different values, \
            or the people for each of those who have the same value. #}
        SELECT {{ s.metric }}, \
            min(least(len(map_keys(holders)), people // greatest(coalesce(list_max(map_values(holders)), 0), 1)))
        FROM (
            SELECT c.class_id, any_value(p.people) AS people, \
                map_from_entries(coalesce(list((c.value, c.holders)) FILTER (WHERE c.value IS NOT NULL), [])) AS holders
            FROM (
                SELECT {{ t.names.class_id }} AS class_id, encode({{ s.text }}) AS value, \
                    len(list_distinct(list({{ t.names.key }}))) AS holders
                FROM {{ 'published rows'|of(t) }}
                GROUP BY ALL
            ) AS c
            JOIN (SELECT {{ parent.names.class_id }} AS class_id, count(*) AS people \
                FROM {{ 'published rows'|of(parent) }} GROUP BY ALL) AS p ON p.class_id = c.class_id
            GROUP BY c.class_id
        )
        HAVING count(*) > 0
        {% endfor %}
        {% endfor %}
    ) AS o
    LEFT JOIN metric_rows AS m USING (metric)
)
