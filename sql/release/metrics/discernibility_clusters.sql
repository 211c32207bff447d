-- description: Discernibility of the clusters as formed: sum of their squared sizes.
-- better: lower
-- source: review of clustering methods, Equation 10, first part
-- order: 121
-- applies_to: classes, noise
-- custodian: classes
SELECT NULL AS detail, squares_of_clusters AS value FROM run
