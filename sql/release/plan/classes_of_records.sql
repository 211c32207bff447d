{#- The class of every record, from those of the parts of its group (part_classes). -#}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
{%- from 'release/plan/row_identity.sql' import tie with context -%}
-- One row per group: its class, or NULL if its records are in several classes.
group_classes AS MATERIALIZED (
    SELECT gid, CASE WHEN min(class_id) = max(class_id) THEN min(class_id) END AS class_id
    FROM part_classes
    GROUP BY gid
),
-- One row per kind of record and class: how many of its records are in the class. If a group is in several classes, its
-- records are assigned in the order of a hash of their unchanged values (unchanged_hash). Parts that follow each other
-- in one class are joined first, because a group may be cut into very many.
record_classes AS MATERIALIZED (
    SELECT r.rid, g.class_id, r.size
    FROM {{ record_groups() }} AS r
    JOIN group_classes AS g ON g.gid = r.gid AND g.class_id IS NOT NULL
    UNION ALL
    SELECT d.rid, p.class_id, sum(least(p.last, d.last) - greatest(p.first, d.last - d.size + 1) + 1)::BIGINT AS size
    FROM (
        SELECT rid, gid, size, sum(size) OVER (PARTITION BY gid ORDER BY unchanged_hash ASC, \
            rid ASC ROWS UNBOUNDED PRECEDING) AS last
        FROM (
            SELECT r.*, {% if unchanged %}{{ tie(sql('s.'), unchanged, false) }}{% else %}0{% endif %} AS unchanged_hash
            FROM {{ record_groups() }} AS r
            JOIN group_classes AS g ON g.gid = r.gid AND g.class_id IS NULL
            JOIN source AS s ON s.rid = r.rid
        )
    ) AS d
    JOIN (
        SELECT gid, class_id, min(first) AS first, max(last) AS last
        FROM (
            SELECT *, sum(begins) OVER (PARTITION BY gid ORDER BY first ASC ROWS UNBOUNDED PRECEDING) AS run
            FROM (
                SELECT *, (class_id IS DISTINCT FROM lag(class_id) \
                    OVER (PARTITION BY gid ORDER BY first ASC))::INTEGER AS begins
                FROM part_classes
                WHERE gid IN (SELECT gid FROM group_classes WHERE class_id IS NULL)
            )
        )
        GROUP BY gid, class_id, run
    ) AS p ON p.gid = d.gid AND p.first <= d.last AND p.last > d.last - d.size
    GROUP BY d.rid, p.class_id
),
