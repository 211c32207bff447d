{#- A refresh that keeps classes: records that were published before stay in their clusters, only the others (fresh) are
    clustered. Records of a group are interchangeable, so it is enough to count them. -#}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
-- One row per cluster of the previous version and hash of its records: how many records it had.
before AS MATERIALIZED (
    SELECT row_hash, cluster_id, sum(records)::BIGINT AS records
    FROM {{ kept_members }}
    WHERE cluster_id IS NOT NULL
    GROUP BY ALL
),
-- One row per group and hash by which its records are recognized: how many records.
hash_of AS MATERIALIZED (
    SELECT g.gid, h.row_hash, sum(h.size)::BIGINT AS size
    FROM record_hashes AS h
    JOIN {{ record_groups() }} AS g ON g.rid = h.rid
    GROUP BY ALL
),
-- One row per group and cluster in which records of the group stay: how many, and the number of the last.
kept_groups AS MATERIALIZED (
    SELECT gid, cluster_id, records, sum(records) OVER (PARTITION BY gid ORDER BY cluster_id ASC) AS last
    FROM (
        SELECT gid, cluster_id, sum(least(records, size - earlier))::BIGINT AS records
        FROM (
            SELECT
                h.gid, h.size, b.cluster_id, b.records,
                sum(b.records) OVER (PARTITION BY h.row_hash ORDER BY b.cluster_id ASC) - b.records AS earlier
            FROM hash_of AS h
            JOIN before AS b USING (row_hash)
        )
        WHERE earlier < size
        GROUP BY gid, cluster_id
    )
),
-- One row per group that has more records than stay: how many were added.
arrivals AS MATERIALIZED (
    SELECT g.* REPLACE ((g.size - coalesce(h.held, 0))::INTEGER AS size), coalesce(h.held, 0)::INTEGER AS held
    FROM code_groups AS g
    LEFT JOIN (SELECT gid, max(last) AS held FROM kept_groups GROUP BY gid) AS h USING (gid)
    WHERE g.size > coalesce(h.held, 0)
),
-- One row: how many records were added, and whether they are deferred: if they are too few for a class and records may
-- be suppressed, or if they were suppressed before and no record is new.
arrival AS MATERIALIZED (
    SELECT *, records <= budget AND (known < {{ k }} OR NOT newcomers) AS waits
    FROM (SELECT coalesce(sum(size), 0) AS records, \
        {% if person %}count(DISTINCT person){% else %}coalesce(sum(size), 0){% endif %} AS known FROM arrivals) AS a
    CROSS JOIN (
        SELECT count(*) > 0 AS newcomers
        FROM (SELECT row_hash, sum(size) AS size FROM hash_of GROUP BY ALL) AS h
        LEFT JOIN (SELECT row_hash, sum(records) AS records FROM {{ kept_members }} GROUP BY ALL) AS b USING (row_hash)
        WHERE h.size > coalesce(b.records, 0)
    ) AS n
    CROSS JOIN (SELECT {% if suppress %}least(floor({{ suppress }}::DOUBLE * sum(size))\
        {% if max_suppressed is not none %}, {{ max_suppressed }}{% endif %})\
        {% else %}0 * sum(size){% endif %} AS budget FROM {{ record_groups() }}) AS b
),
-- One row per group of added records that are not deferred: only these are clustered.
new_groups AS MATERIALIZED (SELECT * FROM arrivals WHERE NOT (SELECT waits FROM arrival)),
