-- description: Number of categorical quasi-identifiers without a hierarchy: they can only be published unchanged or \
    as *.
-- better: lower
-- source: -
-- order: 180
-- value: {{ n_flat }}
