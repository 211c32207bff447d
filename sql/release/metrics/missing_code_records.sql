-- description: Number of source records whose value in a column was read as NULL because it is a code for a missing \
    value.
-- better: lower
-- source: -
-- order: 21
-- requires: missing
-- applies_to: classes, noise
-- custodian: classes, noise
{% for c in coded %}
SELECT {{ metric_name }}, {{ c.label }}, \
    count(*) FILTER (WHERE {{ c.name }} IS NOT NULL AND {{ c.source_value }} IS NULL)
FROM {{ origin }}
{% if not loop.last %}UNION ALL{% endif %}
{% endfor %}
