-- description: The same over the whole column, whatever the cluster: what a count or an average by this column alone is off by.
-- better: lower
-- source: Rubner et al. 2000
-- order: 106
-- applies_to: noise
-- custodian: noise
{% from 'release/noise/distance.sql' import distances with context %}
{{ distances(false) }}
