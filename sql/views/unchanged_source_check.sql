{#- Whether all statements of a version read the same rows; a view may return others each time. One row: in how many
    values, counts and checksums they differ. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, value_hash with context -%}
WITH
{% include 'release/plan/source.sql' %},
-- One row per class and published value of the release: how many rows.
released_values AS MATERIALIZED (
    SELECT {{ class_id }} AS class_id, {{ value_hash(sql(''), true) }} AS value_hash, count(*) AS size
    FROM {{ version }}
    GROUP BY ALL
),
-- One row per record of the version in the membership.
version_members AS MATERIALIZED (SELECT * FROM {{ members }}),
-- One row per class and published value in the membership: how many records.
member_values AS MATERIALIZED (
    SELECT class_id, value_hash, sum(records)::BIGINT AS size
    FROM version_members
    WHERE class_id IS NOT NULL
    GROUP BY ALL
),
-- One row per class of the release: its size.
released_sizes AS MATERIALIZED (SELECT class_id, sum(size)::BIGINT AS size FROM released_values GROUP BY ALL),
-- One row per class in the table of classes: its size.
listed_sizes AS MATERIALIZED (
    SELECT {{ class_id }} AS class_id, {{ names.size }}::BIGINT AS size
    FROM {{ classes }}
    WHERE {{ class_id }} IS NOT NULL
),
-- One row per value that is not in both with the same count.
value_differences AS (
    (FROM released_values EXCEPT FROM member_values) UNION ALL (FROM member_values EXCEPT FROM released_values)
),
-- One row per class that is not in both with the same size.
size_differences AS (
    (FROM released_sizes EXCEPT FROM listed_sizes) UNION ALL (FROM listed_sizes EXCEPT FROM released_sizes)
)
SELECT
    (SELECT count(*) FROM value_differences)
    + (SELECT count(*) FROM size_differences)
    + (
        (SELECT coalesce(sum({{ row_hash(sql('')) }}::HUGEINT * size), 0) FROM source)
        <> (SELECT coalesce(sum(row_hash::HUGEINT * records), 0) FROM version_members)
    )::INTEGER
