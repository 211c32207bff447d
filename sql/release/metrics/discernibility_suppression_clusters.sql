-- description: Discernibility with its suppression term, of the clusters as formed.
-- better: lower
-- source: three-variants paper, Equation 3
-- order: 123
-- custodian: classes
SELECT NULL AS detail, squares_of_clusters + (records_in - records)::HUGEINT * records_in AS value FROM run
