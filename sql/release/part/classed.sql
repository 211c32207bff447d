{#- The class of every record, from those of the parts of its group: class_of_part -> class_of_group -> placed. -#}
{%- from 'release/part/row.sql' import same_group with context -%}
-- A row a group: its class, or NULL where its records are in several.
class_of_group AS MATERIALIZED (
    SELECT e.*, p.class_id
    FROM grouped AS e
    LEFT JOIN (
        SELECT gid, CASE WHEN min(class_id) = max(class_id) THEN min(class_id) END AS class_id
        FROM class_of_part
        GROUP BY gid
    ) AS p USING (gid)
),
-- A row a record: its class.
placed AS MATERIALIZED (
    SELECT e.rid, g.class_id
    FROM encoded AS e
    JOIN (FROM class_of_group WHERE class_id IS NOT NULL) AS g ON {{ same_group() }}
    UNION ALL
    SELECT e.rid, p.class_id
    FROM (
        SELECT e.rid, g.gid, row_number() OVER (PARTITION BY g.gid) AS place
        FROM encoded AS e
        JOIN (FROM class_of_group WHERE class_id IS NULL) AS g ON {{ same_group() }}
    ) AS e
    JOIN class_of_part AS p ON p.gid = e.gid AND e.place BETWEEN p.first AND p.last
),
