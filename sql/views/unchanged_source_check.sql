{#- Whether all statements of a version saw the same rows: a view may give others each time. One row: in how much they
    differ. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, value_hash with context -%}
WITH
{% include 'release/plan/source.sql' %},
shown AS MATERIALIZED (
    SELECT {{ class_id }} AS class_id, {{ value_hash(sql(''), true) }} AS value_hash, count(*) AS size FROM {{ version }} GROUP BY ALL
),
cluster_members AS MATERIALIZED (SELECT * FROM {{ members }}),
known_classes AS MATERIALIZED (
    SELECT class_id, value_hash, sum(records)::BIGINT AS size FROM cluster_members WHERE class_id IS NOT NULL GROUP BY ALL
),
sized AS MATERIALIZED (SELECT class_id, sum(size)::BIGINT AS size FROM shown GROUP BY ALL),
listed AS MATERIALIZED (SELECT {{ class_id }} AS class_id, {{ names.size }}::BIGINT AS size FROM {{ classes }} WHERE {{ class_id }} IS NOT NULL),
differs AS (
    (FROM shown EXCEPT FROM known_classes) UNION ALL (FROM known_classes EXCEPT FROM shown)
),
differs_in_size AS (
    (FROM sized EXCEPT FROM listed) UNION ALL (FROM listed EXCEPT FROM sized)
)
SELECT
    (SELECT count(*) FROM differs) + (SELECT count(*) FROM differs_in_size)
    + ((SELECT coalesce(sum({{ row_hash(sql('')) }}::HUGEINT * size), 0) FROM source) <> (SELECT coalesce(sum(row_hash::HUGEINT * records), 0) FROM cluster_members))::INTEGER
