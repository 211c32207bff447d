{#- Label paths that mask text from the right: 02138, 0213*, 021**, *. Equal texts one below the other are one node. -#}
SELECT
    list_filter(labels, lambda label, i: i = 1 OR label <> labels[i - 1]) AS path,
    row_number() OVER (ORDER BY value ASC NULLS LAST) AS place
FROM (
    SELECT
        value,
        list_concat(
            ['*'],
            list_transform(
                {% if keep %}[{% for n in keep|reverse %}{{ n }}{% if not loop.last %}, {% endif %}{% endfor %}]
                {% else %}range(1, length(value)){% endif %},
                lambda n: left(value, n) || repeat('*', greatest(length(value) - n, 0))
            ),
            [value]
        ) AS labels
    FROM (SELECT DISTINCT {{ label }} COLLATE POSIX AS value FROM {{ source }} WHERE {{ column }} IS NOT NULL)
)
