-- description: Average number of records in a class.
-- better: lower
-- source: -
-- order: 70
-- applies_to: classes, noise
SELECT NULL AS detail, records::DOUBLE / classes AS value FROM run
