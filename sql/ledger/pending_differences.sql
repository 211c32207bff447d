{#- The records that a refresh that keeps classes would remove from each class, and those that it would add, if they do
    not meet the model by themselves: one row for the records removed from a cluster of a class, for the rest of it,
    and for the added records. -#}
{%- from 'release/plan/row_identity.sql' import value_hash with context -%}
WITH RECURSIVE
{# These steps are also the first ones of the release, which can read the same tables. #}
{% include 'release/plan/source.sql' %},
{% include 'release/plan/record_hashes.sql' %}
-- One row per hash of a record and person in the present source: how many records.
source_people AS MATERIALIZED (
    SELECT row_hash, person_key, sum(size)::BIGINT AS records
    FROM record_hashes
    {% if nulls == 'drop' %}
    WHERE true
        {% for q in quasi %}
        AND {{ 'hash'|of(q) }} IS NOT NULL
        {% endfor %}
    {% endif %}
    GROUP BY ALL
)
{# Inner steps, because those of class_differences.sql have names of the steps of a release. #}
SELECT *
FROM (
WITH RECURSIVE
-- One row per hash of a record in the present source: how many records.
source_records AS MATERIALIZED (
    SELECT row_hash, sum(records) AS records, any_value(person_key) AS person_key
    FROM source_people
    GROUP BY row_hash
),
-- One row per hash of a record of the version: how many records.
member_totals AS MATERIALIZED (
    SELECT row_hash, sum(records) AS records FROM {{ members }} WHERE class_id IS NOT NULL GROUP BY row_hash
),
-- One row per hash of a record that the source has less often than the version.
removed_records AS MATERIALIZED (
    SELECT m.row_hash
    FROM member_totals AS m
    LEFT JOIN source_records AS s USING (row_hash)
    WHERE m.records > coalesce(s.records, 0)
),
-- One row per hash of a record and cluster of the version, if the cluster has any such record: how many records.
member_records AS MATERIALIZED (
    SELECT
        row_hash, m.cluster_id, class_id, value_hash, sum(records) AS records, any_value(person_key) AS person_key
    FROM {{ members }} AS m
    SEMI JOIN (SELECT cluster_id FROM {{ members }} WHERE row_hash IN (FROM removed_records)) AS c
        ON c.cluster_id IS NOT DISTINCT FROM m.cluster_id
    WHERE class_id IS NOT NULL
    GROUP BY row_hash, m.cluster_id, class_id, value_hash
),
-- The same rows: how many records were removed. The last clusters lose records first.
member_changes AS MATERIALIZED (
    SELECT *, 0::BIGINT AS n_removed
    FROM member_records
    WHERE row_hash NOT IN (FROM removed_records)
    UNION ALL
    SELECT
        m.* EXCLUDE (cumulated_records),
        greatest(least(m.records, m.cumulated_records - coalesce(s.records, 0)), 0)::BIGINT AS n_removed
    FROM (
        SELECT *, sum(records) OVER (PARTITION BY row_hash ORDER BY cluster_id ASC) AS cumulated_records
        FROM member_records
        WHERE row_hash IN (FROM removed_records)
    ) AS m
    LEFT JOIN source_records AS s USING (row_hash)
),
-- One row per hash of a record that the source has more often than the version: how many records were added.
new_records AS (
    SELECT s.person_key, (s.records - coalesce(m.records, 0))::BIGINT AS records
    FROM source_records AS s
    LEFT JOIN member_totals AS m USING (row_hash)
    WHERE s.records > coalesce(m.records, 0)
),
-- One row per hash of published values: the values.
published_values AS MATERIALIZED (
    SELECT
        {{ value_hash(sql(''), true) }} AS value_hash
        {% for u in unchanged %}
        , any_value({{ u.name }}) AS {{ u.column }}
        {% endfor %}
    FROM (
        SELECT DISTINCT
            true AS is_published
            {% for u in unchanged %}
            , {{ u.name }}
            {% if not u.text_is_value %}
            , {{ u.name }}::VARCHAR AS {{ 'text'|of(u) }}
            {% endif %}
            {% endfor %}
        FROM {{ version }}
    )
    GROUP BY value_hash
),
-- One row per hash of a record that was removed from a cluster: how many records.
pieces AS MATERIALIZED (
    SELECT cluster_id AS class_id, value_hash, n_removed AS size{% if by_person %}, person_key AS person{% endif +%}
    FROM member_changes
    WHERE n_removed > 0
),
{% with person = by_person, nulls = 'keep', suppress = none %}
{% include 'ledger/composition/class_differences.sql' %}
{% endwith %}
SELECT change, class_id, records, persons, {{ k }} AS k, missed
FROM (
    SELECT
        'removed' AS change, class_id, sum(n_removed)::BIGINT AS records, count(DISTINCT person_key) AS persons, missed
    FROM member_changes
    JOIN (
        SELECT class_id AS cluster_id, list(parameter ORDER BY parameter ASC) AS missed
        FROM missed_models
        GROUP BY ALL
    ) USING (cluster_id)
    WHERE n_removed > 0
    GROUP BY cluster_id, class_id, missed
    UNION ALL
    SELECT
        'stays', class_id, sum(records - n_removed)::BIGINT,
        count(DISTINCT person_key) FILTER (WHERE records > n_removed), ['k']
    FROM member_changes
    GROUP BY cluster_id, class_id
    HAVING sum(n_removed) > 0 AND sum(records - n_removed) > 0
        {% if by_person %}
        AND count(DISTINCT person_key) FILTER (WHERE records > n_removed) < {{ k }}
        {% else %}
        AND sum(records - n_removed) < {{ k }}
        {% endif %}
    UNION ALL
    SELECT 'added', NULL, sum(records)::BIGINT, count(DISTINCT person_key), ['k']
    FROM new_records
    HAVING count(*) > 0 AND {% if by_person %}count(DISTINCT person_key){% else %}sum(records){% endif %} < {{ k }}
    {# They are suppressed if so many may be. #}
    {% if suppress %}
        AND sum(records) > (
            SELECT least(
                floor({{ suppress }}::DOUBLE * sum(records))
                {% if max_suppressed is not none %}
                , {{ max_suppressed }}
                {% endif %}
            )
            FROM source_records
        )
    {% endif %}
)
)
ORDER BY change ASC, class_id ASC, records ASC
