-- description: Total information loss: interval widths and hierarchy heights, summed over records and attributes.
-- better: lower
-- source: Wang et al. 2022, Equation 1
-- order: 110
SELECT NULL AS detail, sum((size * loss)::DECIMAL(38, 12)) AS value FROM sized_classes
