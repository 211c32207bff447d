-- description: How far what is published of a column is from the values of the same cluster: numbers in their order, over the column's range; categories by half the sum of differing shares. Average over records.
-- better: lower
-- source: Rubner et al. 2000
-- order: 105
-- applies_to: noise
-- custodian: noise
{% from 'release/noise/distance.sql' import distances with context %}
{{ distances(true) }}
