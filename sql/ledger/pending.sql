{#- What a refresh that keeps classes would add and remove, where that is too little to be hidden: a row a class that
    would lose some records but fewer than k (persons), and one if those that came are fewer. -#}
{%- from 'part/row.sql' import row_hash, person_key with context -%}
WITH
{% include 'part/source.sql' %},
now AS MATERIALIZED (
    SELECT {{ row_hash(sql('')) }} AS row_hash, count(*) AS records, any_value({{ person_key(sql('')) }}) AS person_key
    FROM source
    {% if nulls == 'drop' %}WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}q{{ q.i }} IS NOT NULL{% endfor %}{% endif %}

    GROUP BY row_hash
),
was AS MATERIALIZED (
    SELECT
        row_hash, class_id, sum(records) AS records, any_value(person_key) AS person_key,
        sum(sum(records)) OVER (PARTITION BY row_hash ORDER BY class_id ASC) AS last
    FROM {{ members }}
    WHERE class_id IS NOT NULL
    GROUP BY row_hash, class_id
),
went AS (
    SELECT w.class_id, w.person_key, greatest(least(w.records, w.last - coalesce(n.records, 0)), 0) AS records
    FROM was AS w
    LEFT JOIN now AS n USING (row_hash)
),
came AS (
    SELECT n.person_key, n.records - coalesce(w.records, 0) AS records
    FROM now AS n
    LEFT JOIN (SELECT row_hash, max(last) AS records FROM was GROUP BY row_hash) AS w USING (row_hash)
    WHERE n.records > coalesce(w.records, 0)
)
SELECT change, class_id, records, persons, {{ k }} AS k
FROM (
    SELECT 'went' AS change, class_id, sum(records)::BIGINT AS records, count(DISTINCT person_key) AS persons
    FROM went
    WHERE records > 0
    GROUP BY class_id
    UNION ALL
    SELECT 'came', NULL, sum(records)::BIGINT, count(DISTINCT person_key)
    FROM came
    HAVING count(*) > 0
)
WHERE {% if person %}persons{% else %}records{% endif %} < {{ k }}
ORDER BY change ASC, class_id ASC
