{#- One row a measure of related tables. What does not follow from the released rows alone is the custodian's. -#}
{%- from 'release/related/held.sql' import held with context -%}
SELECT metric, round(value::DOUBLE, 12) AS value, better, description, published
FROM (
    SELECT 1 AS place, 'persons' AS metric, sum(size) AS value, 'higher' AS better, 'Distinct persons in the release.' AS description, true AS published FROM alike
    UNION ALL
    SELECT 2, 'classes', count(*), 'higher', 'Classes of people of whom the same is published in all tables.', true FROM alike
    UNION ALL
    SELECT 3, 'k', min(size), 'higher', 'Achieved k: least number of people in a class, over all tables.', true FROM alike
    UNION ALL
    SELECT 4, 'risk_highest', 1.0::DOUBLE / min(size), 'lower', 'Highest re-identification risk: 1 / people of the smallest class.', true FROM alike
    UNION ALL
    SELECT 5, 'risk_average', count(*)::DOUBLE / sum(size), 'lower', 'Average re-identification risk: classes / people.', true FROM alike
    {% for t in tables %}
    UNION ALL
    SELECT {{ 10 + t.i }}, {{ t.measures.loss }}, coalesce(avg(loss), 0), 'lower', 'Mean loss of a published cell of the table, from 0 to 1.', false FROM {{ 'made'|of(t) }}
    {% endfor %}
    {% for t in tables %}
    {% for s in t.sensitive %}
    UNION ALL
    SELECT {{ 50 + t.i }}, {{ s.metric }}, min(least(different, people // greatest(most, 1))), 'higher', 'Achieved l by people: least number of different values in a class, or people of it for one who has the value that most have.', true
    FROM ({{ held(t, s) }})
    HAVING count(*) > 0
    {% endfor %}
    {% endfor %}
    {% for t in children %}
    UNION ALL
    SELECT {{ 100 * t.i }}, {{ t.measures.rows }}, sum(size{{ t.i }}), 'higher', 'Rows of the table that are published.', true FROM reader
    UNION ALL
    SELECT {{ 100 * t.i + 1 }}, {{ t.measures.rows_surplus }}, sum(least(held{{ t.i }}, {{ cap }}) - size{{ t.i }}), 'lower', 'Rows left out because others of the class have fewer.', false FROM reader
    UNION ALL
    SELECT {{ 100 * t.i + 2 }}, {{ t.measures.rows_above_cap }}, sum(held{{ t.i }} - least(held{{ t.i }}, {{ cap }})), 'lower', 'Rows left out because a person has more than max_children.', false FROM reader
    {% endfor %}
)
WHERE (SELECT passed FROM gate)
ORDER BY place ASC
