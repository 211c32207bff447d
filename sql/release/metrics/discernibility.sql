-- description: Discernibility: sum of squared class sizes; suppressed records do not count.
-- better: lower
-- source: review of clustering methods, Equation 10, first part
-- order: 120
SELECT NULL AS detail, squares_of_classes AS value FROM run
