-- description: The same distance over the whole column, regardless of clusters: the error of a count or an average \
    by this column alone.
-- better: lower
-- source: Rubner et al. 2000
-- order: 106
-- optional: true
-- applies_to: noise
-- custodian: noise
{% from 'release/noise/distance.sql' import distances with context %}
SELECT {{ metric_name }}, detail, value FROM ({{ distances(false) }})
