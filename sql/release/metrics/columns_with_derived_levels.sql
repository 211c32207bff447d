-- description: Numbers for which a full-domain generalization used levels that are not declared: blocks of 1, 2, 4, 8 ... distinct values.
-- better: lower
-- source: -
-- order: 183
-- requires: levels
-- custodian: classes
SELECT NULL AS detail, {{ n_built }} AS value
