{#- What a refresh that keeps classes would take from each class, and what it would add, where that does not meet the model
    by itself: rows for what went from a cluster of a class, what stays of it, and what came. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key, value_hash with context -%}
{% macro filled() -%}{% if nulls == 'drop' %}WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}{{ q.column }} IS NOT NULL{% endfor %}{% endif %}{%- endmacro %}
WITH RECURSIVE
stored AS MATERIALIZED (
    SELECT row_hash, person_key, sum(size)::BIGINT AS records
    FROM (
        WITH {% include 'release/plan/source.sql' %}
        SELECT {{ row_hash(sql('')) }} AS row_hash, {{ person_key(sql('')) }} AS person_key, size FROM source {{ filled() }}

    )
    GROUP BY ALL
),
now AS MATERIALIZED (SELECT row_hash, sum(records) AS records, any_value(person_key) AS person_key FROM stored GROUP BY row_hash),
was AS MATERIALIZED (
    SELECT
        row_hash, cluster_id, class_id, value_hash, sum(records) AS records, any_value(person_key) AS person_key,
        sum(sum(records)) OVER (PARTITION BY row_hash ORDER BY cluster_id ASC) AS last
    FROM {{ members }}
    WHERE class_id IS NOT NULL
    GROUP BY row_hash, cluster_id, class_id, value_hash
),
split AS MATERIALIZED (
    SELECT w.*, greatest(least(w.records, w.last - coalesce(n.records, 0)), 0)::BIGINT AS gone
    FROM was AS w
    LEFT JOIN now AS n USING (row_hash)
),
added AS (
    SELECT n.person_key, (n.records - coalesce(w.records, 0))::BIGINT AS records
    FROM now AS n
    LEFT JOIN (SELECT row_hash, max(last) AS records FROM was GROUP BY row_hash) AS w USING (row_hash)
    WHERE n.records > coalesce(w.records, 0)
),
value_of AS MATERIALIZED (
    SELECT {{ value_hash(sql(''), true) }} AS value_hash{% for u in unchanged %}, any_value({{ u.name }}) AS {{ u.column }}{% endfor %}
    FROM {{ version }}
    GROUP BY value_hash
),
piece AS MATERIALIZED (
    SELECT cluster_id AS class_id, value_hash, gone AS size{% if by_person %}, person_key AS person{% endif %} FROM split WHERE gone > 0
),
{% with person = by_person, nulls = 'keep', suppress = none %}
{% include 'ledger/composition/class_differences.sql' %}
{% endwith %}
SELECT change, class_id, records, persons, {{ k }} AS k, missed
FROM (
    SELECT 'removed' AS change, class_id, sum(gone)::BIGINT AS records, count(DISTINCT person_key) AS persons, missed
    FROM split
    JOIN (SELECT class_id AS cluster_id, list(parameter ORDER BY parameter ASC) AS missed FROM failed GROUP BY ALL) USING (cluster_id)
    WHERE gone > 0
    GROUP BY cluster_id, class_id, missed
    UNION ALL
    SELECT 'stays', class_id, sum(records - gone)::BIGINT, count(DISTINCT person_key) FILTER (WHERE records > gone), ['k']
    FROM split
    GROUP BY cluster_id, class_id
    HAVING sum(gone) > 0 AND sum(records - gone) > 0
        AND {% if by_person %}count(DISTINCT person_key) FILTER (WHERE records > gone){% else %}sum(records - gone){% endif %} < {{ k }}
    UNION ALL
    SELECT 'added', NULL, sum(records)::BIGINT, count(DISTINCT person_key), ['k']
    FROM added
    HAVING count(*) > 0 AND {% if by_person %}count(DISTINCT person_key){% else %}sum(records){% endif %} < {{ k }}
    {# They are left out, where so many may be. #}
    {% if suppress %} AND sum(records) > (SELECT least(floor({{ suppress }}::DOUBLE * sum(records)){% if max_suppressed is not none %}, {{ max_suppressed }}{% endif %}) FROM now){% endif %}
)
ORDER BY change ASC, class_id ASC, records ASC
