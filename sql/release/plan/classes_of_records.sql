{#- The class of every record, from those of the parts of its group: class_of_part -> class_of_group -> class_of_tuple ->
    placed. -#}
{%- from 'release/plan/row_identity.sql' import same_group, same_tuple, tie with context -%}
-- One row per group: its class, or NULL if its records are in several classes.
group_classes AS MATERIALIZED (
    SELECT e.*, p.class_id
    FROM code_groups AS e
    LEFT JOIN (
        SELECT gid, CASE WHEN min(class_id) = max(class_id) THEN min(class_id) END AS class_id
        FROM part_classes
        GROUP BY gid
    ) AS p USING (gid)
),
-- One row per tuple: its group, and the class of the group.
tuple_classes AS MATERIALIZED (
    SELECT t.*, g.gid, g.class_id
    FROM tuples AS t
    JOIN encoded_tuples AS e ON e.tid = t.tid
    JOIN group_classes AS g ON {{ same_group() }}
),
-- One row per kind of record and class: how many of its records are in the class. If a group is in several classes, its
-- records are assigned in the order of a hash of their unchanged values.
record_classes AS MATERIALIZED (
    SELECT s.rid, t.tid, t.class_id, s.size
    FROM source AS s
    JOIN (FROM tuple_classes WHERE class_id IS NOT NULL) AS t ON {{ same_tuple() }}
    UNION ALL
    SELECT d.rid, d.tid, p.class_id, sum(least(p.last, d.last) - greatest(p.first, d.last - d.size + 1) + 1)::BIGINT AS size
    FROM (
        SELECT rid, tid, gid, size, sum(size) OVER (PARTITION BY gid ORDER BY tie ASC, rid ASC ROWS UNBOUNDED PRECEDING) AS last
        FROM (
            SELECT s.rid, t.tid, t.gid, s.size, {% if unchanged %}{{ tie(sql('s.'), unchanged, false) }}{% else %}0{% endif %} AS tie
            FROM source AS s
            JOIN (FROM tuple_classes WHERE class_id IS NULL) AS t ON {{ same_tuple() }}
        )
    ) AS d
    JOIN (
        {# Parts that follow each other in one class are one: a group may be cut into very many. #}
        SELECT gid, class_id, min(first) AS first, max(last) AS last
        FROM (
            SELECT *, sum(begins) OVER (PARTITION BY gid ORDER BY first ASC ROWS UNBOUNDED PRECEDING) AS run
            FROM (
                SELECT *, (class_id IS DISTINCT FROM lag(class_id) OVER (PARTITION BY gid ORDER BY first ASC))::INTEGER AS begins
                FROM part_classes
                WHERE gid IN (SELECT gid FROM group_classes WHERE class_id IS NULL)
            )
        )
        GROUP BY gid, class_id, run
    ) AS p ON p.gid = d.gid AND p.first <= d.last AND p.last > d.last - d.size
    GROUP BY d.rid, d.tid, p.class_id
),
