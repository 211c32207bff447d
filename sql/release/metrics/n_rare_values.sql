-- description: Number of distinct sensitive values that belong to fewer than k records (persons).
-- better: lower
-- source: -
-- order: 160
-- requires: sensitive
-- applies_to: classes, noise
{% for u in unchanged if u.is_sensitive %}
SELECT {{ metric_name }}, {{ u.label }}, count(*) FROM {{ 'value sizes'|of(u) }} WHERE size < {{ k }}
{% if not loop.last %}UNION ALL{% endif %}
{% endfor %}
