{#- Classes of a version that a record has left since: it is gone from the source, or another one now. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key with context -%}
WITH
{% include 'release/plan/source.sql' %},
now AS (SELECT {{ row_hash(sql('')) }} AS row_hash, {{ person_key(sql('')) }} AS person_key, sum(size)::BIGINT AS records FROM source GROUP BY ALL),
cluster_members AS MATERIALIZED (FROM {{ members }} WHERE class_id IS NOT NULL),
was AS (SELECT row_hash, person_key, sum(records) AS records FROM cluster_members GROUP BY ALL)
SELECT DISTINCT m.class_id
FROM was AS w
LEFT JOIN now AS n ON n.row_hash = w.row_hash AND n.person_key IS NOT DISTINCT FROM w.person_key
JOIN cluster_members AS m ON m.row_hash = w.row_hash AND m.person_key IS NOT DISTINCT FROM w.person_key
WHERE coalesce(n.records, 0) < w.records
ORDER BY m.class_id ASC
