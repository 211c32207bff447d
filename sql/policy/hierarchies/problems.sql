{#- Stored hierarchies that are not one tree. -#}
WITH RECURSIVE
-- A row a node of a stored hierarchy.
stored AS (
    {% for t in tables %}
    SELECT {{ t.database }} AS database_name, name COLLATE POSIX AS name, node COLLATE POSIX AS node, parent COLLATE POSIX AS parent, label COLLATE POSIX AS label FROM {{ t.table }}
    {% if not loop.last %}UNION ALL{% endif %}
    {% else %}
    SELECT NULL::VARCHAR AS database_name, NULL::VARCHAR AS name, NULL::VARCHAR AS node, NULL::VARCHAR AS parent,
        NULL::VARCHAR AS label WHERE false
    {% endfor %}
),
-- A row a node that a root reaches: the labels on the way.
reached AS (
    SELECT database_name, name, node, label, [label] AS labels FROM stored WHERE parent IS NULL
    UNION ALL
    SELECT s.database_name, s.name, s.node, s.label, list_append(r.labels, s.label)
    FROM reached AS r
    JOIN stored AS s ON s.database_name = r.database_name AND s.name = r.name AND s.parent = r.node
),
-- A row a leaf.
leaf AS (
    SELECT database_name, name, node, label FROM stored AS s
    WHERE NOT EXISTS (
        FROM stored AS b WHERE b.database_name = s.database_name AND b.name = s.name AND b.parent = s.node
    )
),
-- A row an inner node and the text it is published as. As part/tree.sql publishes them.
inner_node AS (
    SELECT
        database_name, name, node, len(labels) = 1 AS is_root,
        CASE WHEN count(*) OVER (PARTITION BY database_name, name, label) > 1 AND len(labels) > 1
            THEN array_to_string(labels[2:], ' > ') ELSE label END COLLATE POSIX AS published
    FROM reached AS r
    ANTI JOIN leaf AS l ON l.database_name = r.database_name AND l.name = r.name AND l.node = r.node
)
SELECT database_name, name, NULL::VARCHAR AS node, 'has ' || count(*) FILTER (WHERE parent IS NULL) || ' roots; one is needed' AS problem
FROM stored GROUP BY ALL HAVING count(*) FILTER (WHERE parent IS NULL) <> 1
UNION ALL
SELECT s.database_name, s.name, s.node,
    CASE WHEN EXISTS (
        FROM stored AS p WHERE p.database_name = s.database_name AND p.name = s.name AND p.node = s.parent
    ) THEN 'is not reachable from the root: it is on or below a cycle'
    ELSE 'has a parent that does not exist' END
FROM stored AS s ANTI JOIN reached AS r ON r.database_name = s.database_name AND r.name = s.name AND r.node = s.node
UNION ALL
SELECT database_name, name, min(node), 'shares its label with another node under the same parent'
FROM stored GROUP BY database_name, name, parent, label HAVING count(*) > 1
UNION ALL
SELECT database_name, name, min(node), 'shares its label with another leaf' FROM leaf
GROUP BY database_name, name, label HAVING count(*) > 1
UNION ALL
SELECT database_name, name, min(node), 'would be published under the name of another inner node' FROM inner_node
GROUP BY database_name, name, published HAVING count(*) > 1
UNION ALL
SELECT database_name, name, node, 'would be published as *, which stands for every value and NULL, but is not the root'
FROM inner_node WHERE published = '*' AND NOT is_root
ORDER BY ALL ASC NULLS FIRST
