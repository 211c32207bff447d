{#- The records of two versions in the clusters that both have, by published value (and person), if a cluster lost or
    gained records of any value. -#}
CREATE OR REPLACE TEMP TABLE {{ table }} AS
WITH
-- One row per cluster and published value (of a person): how many records, in each version.
member_records AS MATERIALIZED (
    SELECT
        cluster_id, value_hash, {% if person %}person_key, {% endif %}sum(n_new)::BIGINT AS n_new, \
        sum(n_old)::BIGINT AS n_old
    FROM (
        SELECT cluster_id, value_hash, {% if person %}person_key, {% endif %}records AS n_new, 0 AS n_old
        FROM {{ members }}
        WHERE class_id IS NOT NULL
        UNION ALL
        SELECT cluster_id, value_hash, {% if person %}person_key, {% endif %}0, records
        FROM {{ other_members }}
        WHERE class_id IS NOT NULL
    )
    GROUP BY ALL
)
SELECT m.*
FROM member_records AS m
SEMI JOIN (FROM member_records WHERE n_new <> n_old) AS c ON c.cluster_id IS NOT DISTINCT FROM m.cluster_id
