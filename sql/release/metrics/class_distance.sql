-- description: Distance of the published values of a column from the values of the same cluster, averaged over \
    records. Numbers are compared in their order, after top and bottom are applied, relative to the column's range; \
    categories by half the sum of differing shares.
-- better: lower
-- source: Rubner et al. 2000
-- order: 105
-- optional: true
-- applies_to: noise
-- custodian: noise
{% from 'release/noise/distance.sql' import distances with context %}
SELECT {{ metric_name }}, detail, value FROM ({{ distances(true) }})
