-- description: Share of records in classes whose records all have the same sensitive value (in any column, or in the \
    named one): k alone does not protect these records.
-- better: lower
-- source: Machanavajjhala et al. 2006
-- order: 150
-- requires: sensitive
-- applies_to: classes, noise
-- One row per column and class whose records all have the same value of it.
WITH homogeneous AS (
    {% for u in unchanged if u.is_sensitive %}
    SELECT {{ u.label }} AS detail, class_id FROM {{ 'in classes'|of(u) }} GROUP BY class_id HAVING count(*) = 1
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
-- One row per column of the result; NULL is all of them.
wanted AS (
    SELECT NULL AS detail
    {% for u in unchanged if u.is_sensitive %}
    UNION ALL SELECT {{ u.label }}
    {% endfor %}
)
SELECT
    w.detail,
    coalesce((SELECT sum(c.size) FROM sized_classes AS c WHERE c.class_id IN (
        SELECT h.class_id FROM homogeneous AS h WHERE w.detail IS NULL OR h.detail = w.detail
    )), 0)::DOUBLE / (SELECT records FROM run) AS value
FROM wanted AS w
