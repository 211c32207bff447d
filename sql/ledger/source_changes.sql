{#- The differences of the source from the rows from which a version was released. One row: the numbers of added,
    removed and changed records. -#}
{%- from 'release/plan/row_identity.sql' import row_hash, person_key with context -%}
WITH
{% include 'release/plan/source.sql' %},
-- One row per hash of a record and person in the present source: how many records.
source_records AS MATERIALIZED (
    SELECT {{ row_hash(sql('')) }} AS row_hash, {{ person_key(sql('')) }} AS person_key, sum(size)::BIGINT AS records
    FROM source
    GROUP BY ALL
),
-- One row per hash of a record and person in the version: how many records.
member_records AS MATERIALIZED (
    {% if deferred_members %}
    {# A record that is withheld since an erasure is deferred, too, once it may be published again. #}
    SELECT
        row_hash, person_key,
        coalesce(sum(records) FILTER (WHERE kind = 'retained'), 0) \
            + greatest(coalesce(sum(records) FILTER (WHERE kind = 'deferred'), 0), \
            coalesce(sum(records) FILTER (WHERE kind = 'settled'), 0) \
            - coalesce(sum(records) FILTER (WHERE kind = 'retained'), 0)) AS records
    FROM (
        SELECT row_hash, person_key, records, 'settled' AS kind FROM {{ settled_members }}
        UNION ALL
        SELECT row_hash, person_key, records, 'retained' AS kind FROM {{ retained_members }}
        UNION ALL
        SELECT row_hash, person_key, records, 'deferred' AS kind FROM {{ deferred_members }}
    )
    GROUP BY ALL
    {% else %}
    SELECT row_hash, person_key, sum(records) AS records FROM {{ members }} GROUP BY ALL
    {% endif %}
),
-- One row per hash of a record and person: how many records were added and removed.
record_changes AS (
    SELECT
        coalesce(s.person_key, m.person_key) AS person_key,
        greatest(coalesce(s.records, 0) - coalesce(m.records, 0), 0) AS n_added,
        greatest(coalesce(m.records, 0) - coalesce(s.records, 0), 0) AS n_removed
    FROM source_records AS s
    FULL JOIN member_records AS m ON m.row_hash = s.row_hash AND m.person_key IS NOT DISTINCT FROM s.person_key
),
-- One row per person: a removed record and an added one of the same person are one that was changed.
person_changes AS (
    SELECT
        sum(n_added) AS n_added, sum(n_removed) AS n_removed,
        CASE WHEN person_key IS NULL THEN 0 ELSE least(sum(n_added), sum(n_removed)) END AS n_changed
    FROM record_changes
    GROUP BY person_key
)
SELECT
    coalesce(sum(n_added - n_changed), 0)::BIGINT AS added,
    coalesce(sum(n_removed - n_changed), 0)::BIGINT AS removed,
    coalesce(sum(n_changed), 0)::BIGINT AS changed
FROM person_changes
