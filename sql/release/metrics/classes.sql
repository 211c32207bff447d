-- what: Equivalence classes: groups of equal published quasi-identifiers.
-- better: higher
-- source: -
-- place: 50
SELECT NULL AS detail, classes AS value FROM run
