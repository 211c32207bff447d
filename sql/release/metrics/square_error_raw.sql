-- description: Square error of a number in its own unit (dates and times: days): squared distance to the mean of its \
    class.
-- better: lower
-- source: three-variants paper, Equation 4
-- order: 126
-- requires: number
-- custodian: classes
-- per: number
-- value: class_error * width * width
