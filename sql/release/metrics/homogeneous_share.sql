-- description: Share of records in classes whose records all have the same sensitive value (in any column, or in the \
    named one): k alone does not protect these records.
-- better: lower
-- source: Machanavajjhala et al. 2006
-- order: 150
-- requires: sensitive
-- applies_to: classes, noise
{% set sensitive = unchanged|selectattr('is_sensitive')|list %}
SELECT unnest([NULL{% for u in sensitive %}, {{ u.label }}{% endfor %}]) AS detail, unnest(shares) AS value
FROM (
    SELECT [
        coalesce(sum(c.size) FILTER (WHERE {% for u in sensitive %}{% if not loop.first %} OR {% endif %}\
            {{ 'in class'|of(u) }}.n_values = 1{% endfor %}), 0)::DOUBLE / sum(c.size)\
        {% for u in sensitive %},
        coalesce(sum(c.size) FILTER (WHERE {{ 'in class'|of(u) }}.n_values = 1), 0)::DOUBLE / sum(c.size)\
        {% endfor +%}
    ] AS shares
    FROM sized_classes AS c
    {% for u in sensitive %}
    LEFT JOIN (SELECT class_id, count(*) AS n_values FROM {{ 'in classes'|of(u) }} GROUP BY class_id) \
        AS {{ 'in class'|of(u) }} USING (class_id)
    {% endfor %}
)
