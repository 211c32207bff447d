-- description: Equivalence classes: groups of equal published quasi-identifiers.
-- better: higher
-- source: -
-- order: 50
SELECT NULL AS detail, classes AS value FROM run
