{#- A row a class as it is when the stream has ended, and one for what is left out: records, persons, how many of its records
    left when it was first seen, and when that was; what it publishes, and what a record of it loses (CASTLE's loss,
    beside the range of all that is published and the leaves of the hierarchy). -#}
SELECT r.*, p.* EXCLUDE (class_id), coalesce(x.loss, 1.0) AS loss
FROM (
    SELECT class_id, count(*) AS records, count(DISTINCT person) AS persons, count(*) FILTER (WHERE published_at = begun) AS first_records, begun AS published_at
    FROM (SELECT *, min(published_at) OVER (PARTITION BY class_id) AS begun FROM replayed_records WHERE NOT suppressed)
    GROUP BY class_id, begun
    UNION ALL
    SELECT NULL, count(*), count(DISTINCT person), count(*), NULL FROM replayed_records WHERE suppressed HAVING count(*) > 0
) AS r
LEFT JOIN published_classes AS p ON p.class_id = r.class_id
LEFT JOIN ({% include 'release/streams/loss.sql' %}) AS x ON x.class_id = r.class_id
