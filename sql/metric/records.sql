-- what: Released records.
-- better: higher
-- source: -
-- place: 10
SELECT NULL AS detail, records AS value FROM run
