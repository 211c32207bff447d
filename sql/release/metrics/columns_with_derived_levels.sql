-- description: Number of numeric columns that a full-domain generalization raised by levels that no one declared: \
    blocks of 1, 2, 4, 8 ... distinct values.
-- better: lower
-- source: -
-- order: 183
-- requires: levels
-- custodian: classes
-- value: {{ n_built }}
