-- description: Square error of a number in its own unit (dates and times: days): squared distance to the mean of its \
    cluster as formed.
-- better: lower
-- source: three-variants paper, Equation 4
-- order: 127
-- requires: number
-- custodian: classes
-- per: number
-- value: cluster_error * width * width
