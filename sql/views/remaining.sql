{#- Classes of a version that a record has left since then: it was removed from the source, or it was changed. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key with context -%}
WITH
{% include 'release/plan/source.sql' %},
-- One row per hash of a record and person in the present source: how many records.
source_records AS (
    SELECT {{ row_hash(sql('')) }} AS row_hash, {{ person_key(sql('')) }} AS person_key, sum(size)::BIGINT AS records
    FROM source
    GROUP BY ALL
),
-- One row per record and class of the version.
class_members AS MATERIALIZED (FROM {{ members }} WHERE class_id IS NOT NULL),
-- One row per hash of a record and person in the version: how many records.
member_records AS (SELECT row_hash, person_key, sum(records) AS records FROM class_members GROUP BY ALL)
SELECT DISTINCT c.class_id
FROM member_records AS m
LEFT JOIN source_records AS s ON s.row_hash = m.row_hash AND s.person_key IS NOT DISTINCT FROM m.person_key
JOIN class_members AS c ON c.row_hash = m.row_hash AND c.person_key IS NOT DISTINCT FROM m.person_key
WHERE coalesce(s.records, 0) < m.records
ORDER BY c.class_id ASC
