-- description: Share of the records whose published value of a quasi-identifier reveals nothing: *, or a node or \
    range that covers everything published of it.
-- better: lower
-- source: -
-- order: 181
{% for q in quasi %}
SELECT {{ q.label }} AS detail, \
    coalesce(sum(c.size) FILTER (WHERE l.{{ ('loss' if q.is_number else 'leaves')|of(q) }} >= 1), 0)::DOUBLE \
    / sum(c.size) AS value
FROM class_losses AS l
JOIN sized_classes AS c USING (class_id)
{% if not loop.last %}UNION ALL{% endif %}
{% endfor %}
