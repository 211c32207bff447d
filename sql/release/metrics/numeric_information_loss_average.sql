-- description: Interval widths of the numbers, averaged over records and attributes that are numbers.
-- better: lower
-- source: review of clustering methods, Equation 7
-- order: 119
-- requires: number
SELECT NULL AS detail, lost.numbers / (run.records * {{ quasi|selectattr('is_number')|list|length }}) AS value \
    FROM lost, run
