-- description: Interval widths of the numbers, summed over records and attributes.
-- better: lower
-- source: review of clustering methods, Equation 7 (as a sum)
-- order: 118
-- requires: number
SELECT NULL AS detail, numbers AS value FROM lost
