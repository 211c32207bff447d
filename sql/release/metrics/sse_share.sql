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
SELECT NULL AS detail, 100 * coalesce(avg(share ORDER BY attribute ASC), 0.0) AS value
FROM (
    SELECT
        attribute,
        coalesce(sum((
            c.variation + c.filled::DOUBLE * (c.size - c.filled)::DOUBLE / c.size \
                * ((c.mean - w.mean) * (c.mean - w.mean) + w.variance)
        ) / (w.variance * w.filled * (1 + (w.size - w.filled)::DOUBLE / w.size)) ORDER BY c.id ASC) \
            FILTER (WHERE c.filled > 0), 0.0) AS share
    FROM (SELECT *, total::DOUBLE / filled AS mean, variation / filled AS variance \
        FROM dispersions WHERE level = 'all' AND variation > 0) AS w
    LEFT JOIN (SELECT *, total::DOUBLE / filled AS mean FROM dispersions WHERE level = 'class') AS c USING (attribute)
    GROUP BY attribute
)
