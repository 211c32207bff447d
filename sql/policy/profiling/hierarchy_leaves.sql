{#- Leaf labels of a stored hierarchy that are not labels of its inner nodes, too. -#}
SELECT name, label
FROM {{ table }} AS l
WHERE name = {{ name }}
    AND label NOT IN (
        SELECT i.label
        FROM {{ table }} AS i
        WHERE i.name = {{ name }}
            AND i.node IN (SELECT parent FROM {{ table }} WHERE name = {{ name }} AND parent IS NOT NULL)
    )
