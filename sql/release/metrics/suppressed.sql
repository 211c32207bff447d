-- description: Number of records suppressed as outliers (suppress), which lowers the loss of the others.
-- better: lower
-- source: -
-- order: 25
-- applies_to: classes, noise
SELECT NULL AS detail, coalesce(sum(size), 0) AS value FROM record_classes WHERE class_id = -1
