-- description: Normalized average size of the clusters as formed: records / clusters / k; 1 is ideal.
-- better: lower
-- source: review of clustering methods, Equation 13
-- order: 92
-- applies_to: classes, noise
-- custodian: classes
SELECT NULL AS detail, records::DOUBLE / clusters / k AS value FROM run
