-- description: Number of released records.
-- better: higher
-- source: -
-- order: 10
-- applies_to: classes, noise
SELECT NULL AS detail, records AS value FROM run
