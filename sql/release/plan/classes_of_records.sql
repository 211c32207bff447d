{#- The class of every record, from those of the parts of its group: class_of_part -> class_of_group -> class_of_tuple ->
    placed. -#}
{%- from 'release/plan/row_identity.sql' import same_group, same_tuple, tie with context -%}
-- A row a group: its class, or NULL where its records are in several.
group_classes AS MATERIALIZED (
    SELECT e.*, p.class_id
    FROM code_groups AS e
    LEFT JOIN (
        SELECT gid, CASE WHEN min(class_id) = max(class_id) THEN min(class_id) END AS class_id
        FROM part_classes
        GROUP BY gid
    ) AS p USING (gid)
),
-- A row a tuple: its group, and the class of that.
tuple_classes AS MATERIALIZED (
    SELECT t.*, g.gid, g.class_id
    FROM tuples AS t
    JOIN encoded_tuples AS e ON e.tid = t.tid
    JOIN group_classes AS g ON {{ same_group() }}
),
-- A row a kind of record and a class: how many of them are in it. Those of a group that is in several classes are dealt
-- out in the order of a hash of what is published unchanged.
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
