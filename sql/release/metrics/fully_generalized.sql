-- description: Share of the records whose published value of a quasi-identifier reveals nothing: *, or a node or \
    range that covers everything published of it.
-- better: lower
-- source: -
-- order: 181
SELECT
    q.detail,
    coalesce(
        sum(c.size) FILTER (WHERE l.{% if counts_used_leaves %}edges{% else %}leaves{% endif %} >= 1), 0
    )::DOUBLE / sum(c.size) AS value
FROM square_errors AS q LEFT JOIN column_losses AS l USING (attribute) LEFT JOIN sized_classes AS c USING (class_id)
GROUP BY q.detail
