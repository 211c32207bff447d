-- what: Released records.
-- better: higher
-- source: -
-- place: 10
-- of: classes, noise
SELECT NULL AS detail, records AS value FROM run
