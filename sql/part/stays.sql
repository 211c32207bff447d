{#- A refresh that keeps classes: records that were published before stay where they were, only the others are
    clustered. Records of a group are interchangeable, so it is enough to count them. -#}
{%- from 'part/row.sql' import row_hash with context -%}
before AS MATERIALIZED (
    SELECT row_hash, class_id, sum(records)::BIGINT AS records
    FROM {{ keep }}
    WHERE class_id IS NOT NULL
    GROUP BY ALL
),
hash_of AS MATERIALIZED (
    SELECT g.gid, {{ row_hash(sql('s.')) }} AS row_hash, count(*) AS size
    FROM encoded AS e
    JOIN grouped AS g ON {{ same_group() }}
    JOIN source AS s ON s.rid = e.rid
    GROUP BY ALL
),
stays AS MATERIALIZED (
    SELECT gid, class_id, records, sum(records) OVER (PARTITION BY gid ORDER BY class_id ASC) AS last
    FROM (
        SELECT gid, class_id, sum(least(records, size - earlier))::BIGINT AS records
        FROM (
            SELECT
                h.gid, h.size, b.class_id, b.records,
                sum(b.records) OVER (PARTITION BY h.row_hash ORDER BY b.class_id ASC) - b.records AS earlier
            FROM hash_of AS h
            JOIN before AS b USING (row_hash)
        )
        WHERE earlier < size
        GROUP BY gid, class_id
    )
),
fresh AS MATERIALIZED (
    SELECT g.* REPLACE ((g.size - coalesce(h.held, 0))::INTEGER AS size), coalesce(h.held, 0)::INTEGER AS held
    FROM grouped AS g
    LEFT JOIN (SELECT gid, max(last) AS held FROM stays GROUP BY gid) AS h USING (gid)
    WHERE g.size > coalesce(h.held, 0)
),
fresh_facts AS MATERIALIZED (
    SELECT coalesce(sum(size), 0) AS records{% if person %}, count(DISTINCT person) AS persons{% endif %} FROM fresh
),
