{#- Stored hierarchies that are not one tree. -#}
WITH RECURSIVE
-- One row per node of a stored hierarchy.
nodes AS (
    {% for t in tables %}
    SELECT
        {{ t.database }} AS database_name, name COLLATE POSIX AS name, node COLLATE POSIX AS node,
        parent COLLATE POSIX AS parent, label COLLATE POSIX AS label
    FROM {{ t.table }}
    {% if not loop.last %}
    UNION ALL
    {% endif %}
    {% else %}
    SELECT
        NULL::VARCHAR AS database_name, NULL::VARCHAR AS name, NULL::VARCHAR AS node,
        NULL::VARCHAR AS parent, NULL::VARCHAR AS label
    WHERE false
    {% endfor %}
),
-- One row per node that can be reached from a root: the labels on the way.
reachable_nodes AS (
    SELECT database_name, name, node, label, [label] AS labels FROM nodes WHERE parent IS NULL
    UNION ALL
    SELECT n.database_name, n.name, n.node, n.label, list_append(r.labels, n.label)
    FROM reachable_nodes AS r
    JOIN nodes AS n ON n.database_name = r.database_name AND n.name = r.name AND n.parent = r.node
),
-- One row per leaf.
leaves AS (
    SELECT database_name, name, node, label FROM nodes AS n
    WHERE NOT EXISTS (
        FROM nodes AS below
        WHERE below.database_name = n.database_name AND below.name = n.name AND below.parent = n.node
    )
),
-- One row per inner node: the text that represents it in a release.
inner_nodes AS (
    SELECT
        database_name, name, node, len(labels) = 1 AS is_root,
        CASE
            WHEN count(*) OVER (PARTITION BY database_name, name, label) > 1 AND len(labels) > 1
            THEN array_to_string(labels[2:], ' > ') ELSE label
        END COLLATE POSIX AS released_text
    FROM reachable_nodes AS r
    ANTI JOIN leaves AS l ON l.database_name = r.database_name AND l.name = r.name AND l.node = r.node
)
SELECT
    database_name, name, NULL::VARCHAR AS node,
    'has ' || count(*) FILTER (WHERE parent IS NULL) || ' roots; one is needed' AS problem
FROM nodes GROUP BY ALL HAVING count(*) FILTER (WHERE parent IS NULL) <> 1
UNION ALL
SELECT
    n.database_name, n.name, n.node,
    CASE
        WHEN EXISTS (
            FROM nodes AS above
            WHERE above.database_name = n.database_name AND above.name = n.name AND above.node = n.parent
        ) THEN 'is not reachable from the root: it is on or below a cycle'
        ELSE 'has a parent that does not exist'
    END
FROM nodes AS n
ANTI JOIN reachable_nodes AS r ON r.database_name = n.database_name AND r.name = n.name AND r.node = n.node
UNION ALL
SELECT database_name, name, min(node), 'shares its label with another node under the same parent'
FROM nodes GROUP BY database_name, name, parent, label HAVING count(*) > 1
UNION ALL
SELECT database_name, name, min(node), 'shares its label with another leaf'
FROM leaves GROUP BY database_name, name, label HAVING count(*) > 1
UNION ALL
SELECT database_name, name, min(node), 'would be published under the name of another inner node'
FROM inner_nodes GROUP BY database_name, name, released_text HAVING count(*) > 1
UNION ALL
SELECT database_name, name, node, 'would be published as *, which stands for every value and NULL, but is not the root'
FROM inner_nodes WHERE released_text = '*' AND NOT is_root
ORDER BY ALL ASC NULLS FIRST
