-- description: Number of equivalence classes: sets of records with equal published quasi-identifiers.
-- better: higher
-- source: -
-- order: 50
SELECT NULL AS detail, classes AS value FROM run
