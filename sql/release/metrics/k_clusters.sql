-- description: Least number of {unit} in a cluster, within which values are hidden in noise and shuffled. This is \
    not a k of the rows.
-- better: higher
-- source: Song et al. 2019
-- order: 48
-- applies_to: noise
-- value: smallest
