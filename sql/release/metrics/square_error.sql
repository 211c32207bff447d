-- description: Square error: squared distance of a record to the mean of its class. Numbers are divided by the \
    column's range; a category counts 1 if it is not the mode.
-- better: lower
-- source: three-variants paper, Equation 4
-- order: 124
-- custodian: classes
-- value: class_error
