{#- Lines of an ARX file: value;level1;...;*, in leaf order. -#}
WITH RECURSIVE
-- One row per node of the hierarchy.
nodes AS ({{ rows }}),
-- One row per node that can be reached from the root: the labels on the way, from the node up.
label_paths AS (
    SELECT node, [label] AS labels, [(ord, node)] AS place FROM nodes WHERE parent IS NULL
    UNION ALL
    SELECT n.node, list_prepend(n.label, p.labels), list_append(p.place, (n.ord, n.node))
    FROM label_paths AS p
    JOIN nodes AS n ON n.parent = p.node
)
SELECT array_to_string(list_transform(labels, lambda label:
    CASE WHEN regexp_matches(label, '[;"\r\n]') THEN '"' || replace(label, '"', '""') || '"' ELSE label END
), ';') AS line
FROM label_paths AS p
WHERE NOT EXISTS (FROM nodes AS below WHERE below.parent = p.node)
ORDER BY place ASC NULLS LAST
