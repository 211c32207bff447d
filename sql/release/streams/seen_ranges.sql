{#- One row per class as it is when the stream has ended, and one for suppressed records: records, persons, how many of
    its records were published when it was first seen, and when that was; its published values, and the loss of one of
    its records (CASTLE's loss, over the range of all published values and the leaves of the hierarchy). -#}
SELECT r.*, p.* EXCLUDE (class_id), coalesce(x.loss, 1.0) AS loss
FROM (
    SELECT class_id, count(*) AS records, count(DISTINCT person) AS persons, \
        count(*) FILTER (WHERE published_at = begun) AS first_records, begun AS published_at
    FROM (SELECT *, min(published_at) OVER (PARTITION BY class_id) AS begun FROM replayed_records WHERE NOT suppressed)
    GROUP BY class_id, begun
    UNION ALL
    SELECT NULL, count(*), count(DISTINCT person), count(*), NULL FROM replayed_records WHERE suppressed \
        HAVING count(*) > 0
) AS r
LEFT JOIN published_classes AS p ON p.class_id = r.class_id
LEFT JOIN ({% include 'release/streams/loss.sql' %}) AS x ON x.class_id = r.class_id
