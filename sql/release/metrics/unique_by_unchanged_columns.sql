-- description: Number of released records that share all their unchanged values (sensitive and other columns) with \
    no other record (person): a reader who knows these values finds the records, whatever k is.
-- better: lower
-- source: -
-- order: 175
-- requires: unchanged
-- value: (SELECT coalesce(sum(size) FILTER (WHERE people <= 1), 0) FROM (\
    {% if person %}SELECT sum(l.size) AS size, count(DISTINCT s.person) AS people FROM source AS s \
    JOIN record_classes AS l ON l.rid = s.rid{% if suppress %} AND l.class_id <> -1{% endif %} GROUP BY \
    {% for u in unchanged if not u.is_link %}{% if not loop.first %}, {% endif %}s.{{ u.column }}{% endfor %}\
    {% else %}SELECT sum(size) AS size, sum(size) AS people FROM released_values GROUP BY \
    {% for u in unchanged if not u.is_link %}{% if not loop.first %}, {% endif %}{{ u.column }}{% endfor %}{% endif %}))
