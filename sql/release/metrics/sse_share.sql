-- description: Information loss of microaggregation: 100 * SSE / SST of the numbers' z-scores, within classes and in \
    total; 0 is no loss, 100 is a single class. A NULL is placed at the column's mean and, on an axis of its own, one \
    standard deviation away; columns with one value do not count.
-- better: lower
-- source: Domingo-Ferrer and Mateo-Sanz 2002
-- order: 129
-- requires: number
-- custodian: classes
{#- Of z-scores every column has the same SST, so the share is the average of the columns'. Of one column, f of the n
    records of a group known: their squares around their mean, and f (n - f) / n for each square of what lies between
    the known and the NULLs: between their means, and between the two axes. -#}
{% macro around(of) %}({{ of }}.squares - 2 * {{ of }}.least * {{ of }}.total + {{ of }}.filled * {{ of }}.least \
    * {{ of }}.least)::DOUBLE - ({{ of }}.total - {{ of }}.filled * {{ of }}.least)::DOUBLE / {{ of }}.filled \
    * ({{ of }}.total - {{ of }}.filled * {{ of }}.least)::DOUBLE{% endmacro %}
SELECT NULL AS detail, 100 * coalesce(avg(share ORDER BY place ASC), 0.0) AS value
FROM (
    {% for q in quasi if q.is_number %}
    SELECT
        {{ loop.index }} AS place,
        coalesce(sum((
            greatest(0, {{ around(sql('c')) }})
            + c.filled::DOUBLE * (c.size - c.filled)::DOUBLE / c.size \
                * ((c.total::DOUBLE / c.filled - w.mean) * (c.total::DOUBLE / c.filled - w.mean) + w.variance)
        ) / (w.variance * w.filled * (1 + (w.size - w.filled)::DOUBLE / w.size)) ORDER BY c.class_id ASC) \
            FILTER (WHERE c.filled > 0), 0.0) AS share
    FROM (
        SELECT w.size, w.filled, w.total::DOUBLE / w.filled AS mean, \
            greatest(0, {{ around(sql('w')) }}) / w.filled AS variance
        FROM (
            SELECT sum(e.size)::HUGEINT AS size, \
                coalesce(sum(e.size) FILTER (WHERE t.step IS NOT NULL), 0)::HUGEINT AS filled, min(t.step) AS least, \
                sum(e.size * t.step) AS total, sum(e.size * t.step * t.step) AS squares
            {% if suppress %}
            FROM (SELECT g.{{ 'code'|of(q) }} AS code, p.last - p.first + 1 AS size \
                FROM cluster_parts AS p JOIN code_groups AS g USING (gid) WHERE p.cluster <> -1) AS e
            {% else %}
            FROM (SELECT {{ 'code'|of(q) }} AS code, size FROM code_groups) AS e
            {% endif %}
            LEFT JOIN {{ 'steps'|of(q) }} AS t ON t.code = e.code
        ) AS w
    ) AS w
    LEFT JOIN (
        SELECT class_id, sum(size)::HUGEINT AS size, sum({{ 'filled'|of(q) }}) AS filled, \
            min({{ 'least'|of(q) }}) AS least, sum({{ 'sum'|of(q) }}) AS total, sum({{ 'squares'|of(q) }}) AS squares
        FROM cluster_moments
        GROUP BY class_id
    ) AS c ON true
    WHERE w.filled > 0 AND w.variance > 0
    HAVING count(*) > 0
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
