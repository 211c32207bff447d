-- what: Normalized average size of the clusters as formed: records / clusters / k; 1 is ideal.
-- better: lower
-- source: review of clustering methods, Equation 13
-- place: 92
-- of: classes, noise
-- custodian: classes
SELECT NULL AS detail, records::DOUBLE / clusters / k AS value FROM run
