-- description: Least number of records with equal published quasi-identifiers: the k of the rows, which noise does \
    not keep.
-- better: higher
-- source: Samarati and Sweeney 1998
-- order: 49
-- applies_to: noise
SELECT {{ metric_name }}, NULL, min(size)
FROM (SELECT sum(size) AS size FROM released_values \
    GROUP BY {% for q in quasi %}{% if not loop.first %}, {% endif %}{{ 'published'|of(q) }}{% endfor %})
