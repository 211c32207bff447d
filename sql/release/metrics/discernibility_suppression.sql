-- description: Discernibility with its suppression term: sum of squared class sizes, plus the number of all records \
    for each suppressed record.
-- better: lower
-- source: three-variants paper, Equation 3
-- order: 122
-- value: squares_of_classes + (records_in - records) * records_in
