{#- How the source differs from what a version was released from: records that were added, removed and changed, and what a refresh
    that keeps classes would take from each class. One row: added, removed, changed. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key with context -%}
WITH
{% include 'release/plan/source.sql' %},
now AS MATERIALIZED (
    SELECT {{ row_hash(sql('')) }} AS row_hash, {{ person_key(sql('')) }} AS person_key, sum(size)::BIGINT AS records
    FROM source
    GROUP BY ALL
),
was AS MATERIALIZED (
    SELECT row_hash, person_key, sum(records) AS records FROM {{ members }} GROUP BY ALL
),
differ AS (
    SELECT
        coalesce(n.person_key, w.person_key) AS person_key,
        greatest(coalesce(n.records, 0) - coalesce(w.records, 0), 0) AS added,
        greatest(coalesce(w.records, 0) - coalesce(n.records, 0), 0) AS removed
    FROM now AS n
    FULL JOIN was AS w ON w.row_hash = n.row_hash AND w.person_key IS NOT DISTINCT FROM n.person_key
),
{# A record that went and one that came of the same person are one that changed. #}
by_person AS (
    SELECT sum(added) AS added, sum(removed) AS removed, CASE WHEN person_key IS NULL THEN 0 ELSE least(sum(added), sum(removed)) END AS changed
    FROM differ
    GROUP BY person_key
)
SELECT
    coalesce(sum(added - changed), 0)::BIGINT AS added,
    coalesce(sum(removed - changed), 0)::BIGINT AS removed,
    coalesce(sum(changed), 0)::BIGINT AS changed
FROM by_person
