{#- Lines of an ARX file: value;level1;...;*, in leaf order. -#}
WITH RECURSIVE
-- A row a node of the hierarchy.
rows AS ({{ rows }}),
-- A row a node that the root reaches: the labels on the way.
walk AS (
    SELECT node, [label] AS labels, [(ord, node)] AS place FROM rows WHERE parent IS NULL
    UNION ALL
    SELECT r.node, list_prepend(r.label, w.labels), list_append(w.place, (r.ord, r.node))
    FROM walk AS w
    JOIN rows AS r ON r.parent = w.node
)
SELECT array_to_string(list_transform(labels, lambda label:
    CASE WHEN regexp_matches(label, '[;"\r\n]') THEN '"' || replace(label, '"', '""') || '"' ELSE label END), ';') AS line
FROM walk AS w
WHERE NOT EXISTS (FROM rows AS below WHERE below.parent = w.node)
ORDER BY place ASC NULLS LAST
