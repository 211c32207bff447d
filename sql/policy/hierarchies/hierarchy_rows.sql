{#- Rows of a hierarchy from label paths (root first). A node is its path, so equal labels in different branches are
    different nodes; ord is the order of first appearance. -#}
SELECT
    array_to_string(
        list_transform(path[1:depth], lambda label: replace(replace(label, '\', '\\'), '/', '\/')), '/'
    ) COLLATE POSIX AS node,
    CASE WHEN depth > 1 THEN array_to_string(
        list_transform(path[1:depth - 1], lambda label: replace(replace(label, '\', '\\'), '/', '\/')), '/'
    ) END COLLATE POSIX AS parent,
    path[depth] COLLATE POSIX AS label,
    min(place)::BIGINT AS ord
FROM (SELECT path, place, unnest(range(1, len(path) + 1)) AS depth FROM ({{ paths }}))
GROUP BY ALL
