-- description: Number of records dropped before clustering: with a NULL in a quasi-identifier (nulls = 'drop'), \
    beyond `bounds`, or equal in everything published to a record that is kept (drop_duplicates).
-- better: lower
-- source: Majeed et al. 2024, preprocessing
-- order: 20
-- applies_to: classes, noise
SELECT {{ metric_name }} AS metric, 'null' AS detail, records_in - n_assigned AS value FROM totals
{% if bounds and not noise %}
UNION ALL
SELECT {{ metric_name }}, 'bounds', (SELECT coalesce(sum(size), 0) FROM whole_source) - (SELECT coalesce(sum(size), 0) \
    FROM bounded_records)
{% endif %}
{% if distinct and not noise %}
UNION ALL
SELECT {{ metric_name }}, 'duplicate', \
    (SELECT coalesce(sum(size), 0) FROM bounded_records) - (SELECT coalesce(sum(size), 0) FROM source)
{% endif %}
