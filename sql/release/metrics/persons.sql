-- description: Number of distinct persons in the release; only if a person column is declared. Without one, k counts \
    records.
-- better: higher
-- source: -
-- order: 30
-- requires: person
-- applies_to: classes, noise
-- value: (SELECT count(DISTINCT s.person) FROM source AS s JOIN record_classes AS l ON l.rid = s.rid\
    {% if suppress %} AND l.class_id <> -1{% endif %})
