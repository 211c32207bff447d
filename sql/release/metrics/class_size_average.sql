-- what: Average number of records in a class.
-- better: lower
-- source: -
-- place: 70
-- of: classes, noise
SELECT NULL AS detail, records::DOUBLE / classes AS value FROM run
