-- description: Normalized average class size: records / classes / k; 1 is ideal.
-- better: lower
-- source: review of clustering methods, Equation 13
-- order: 90
SELECT NULL AS detail, records::DOUBLE / classes / k AS value FROM run
