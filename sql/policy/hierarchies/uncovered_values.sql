{#- Values of a column that a hierarchy misses, or that a reader could not tell from generalized ones. -#}
WITH
-- A row a node of the hierarchy.
rows AS ({% if rows %}{{ rows }}{% else %}SELECT '*' AS node, NULL AS parent, '*' AS label, 0 AS ord{% endif %}),
-- A row a label of an inner node.
inner_labels AS (
    SELECT DISTINCT label FROM rows AS r
    WHERE {% if rows %}EXISTS (FROM rows AS below WHERE below.parent = r.node){% else %}true{% endif %}
),
-- A row a label of a leaf.
leaf_labels AS (SELECT DISTINCT label FROM rows WHERE label NOT IN (FROM inner_labels)),
-- A row a value of the column: how many records have it.
found AS (
    SELECT {{ label }} COLLATE POSIX AS value, count(*) AS records
    FROM {{ source }}
    WHERE {{ column }} IS NOT NULL
    GROUP BY 1
)
SELECT value, records,
    CASE WHEN value = '*' OR value IN (FROM inner_labels) THEN 'reserved' ELSE 'missing' END AS problem
FROM found
WHERE value = '*' OR value IN (FROM inner_labels){% if rows %} OR value NOT IN (FROM leaf_labels){% endif %}
ORDER BY problem ASC, value ASC
