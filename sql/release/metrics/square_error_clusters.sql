-- description: Square error: squared distance of a record to the mean of its cluster as formed. Numbers are divided \
    by the column's range; a category counts 1 if it is not the mode.
-- better: lower
-- source: three-variants paper, Equation 4
-- order: 125
-- custodian: classes
-- value: cluster_error
