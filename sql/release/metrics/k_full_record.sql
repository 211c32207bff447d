-- description: Least number of {unit} that are equal in everything published, including unchanged columns: the \
    protection against an attacker who knows these.
-- better: higher
-- source: -
-- order: 47
-- requires: unchanged
-- value: (SELECT min(size) FROM (\
    {% if person %}SELECT greatest(count(DISTINCT s.person), 1) AS size FROM source AS s \
    JOIN record_classes AS l ON l.rid = s.rid{% if suppress %} AND l.class_id <> -1{% endif %} \
    GROUP BY l.class_id{% for u in unchanged if not u.is_link %}, s.{{ u.column }}{% endfor %}\
    {% else %}SELECT sum(size) AS size FROM released_values \
    GROUP BY class_id{% for u in unchanged if not u.is_link %}, {{ u.column }}{% endfor %}{% endif %}))
