-- description: Number of released records with a pseudonym that other released records also have: readers can see \
    that these records belong together.
-- better: lower
-- source: -
-- order: 176
-- requires: link
SELECT {{ metric_name }}, NULL, coalesce(sum(size) FILTER (WHERE shared), 0)
FROM (
    SELECT place, any_value(size) AS size, bool_or(holders > 1) AS shared
    FROM (
        SELECT place, size, sum(size) OVER (PARTITION BY link) AS holders
        FROM (
            SELECT place, size, \
                unnest(list_distinct([{% for l in pseudonym_columns %}{{ l.column }}\
                {% if not loop.last %}, {% endif %}{% endfor %}])) AS link
            FROM (SELECT row_number() OVER () AS place, * FROM released_values)
        )
    )
    GROUP BY place
)
