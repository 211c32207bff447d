-- description: 1 where all released records are in one class, so that their quasi-identifiers tell nothing of a record; else 0.
-- better: lower
-- source: -
-- order: 182
SELECT NULL AS detail, (classes = 1)::INTEGER AS value FROM run
