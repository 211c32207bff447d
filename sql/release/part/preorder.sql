{#- A stored hierarchy from its root: rows_i (node, parent, label, ord) as stored, walk_i every node that the root reaches
    with its line of nodes and labels from the root, and its places among siblings, which order nodes in preorder. -#}
{% macro walk(q) %}
rows_{{ q.i }} AS MATERIALIZED (
    {{ q.rows }}
),
ranked_{{ q.i }} AS (
    SELECT
        r.node, r.parent, r.label,
        row_number() OVER (PARTITION BY r.parent ORDER BY r.ord ASC NULLS LAST, r.node ASC) AS place,
        NOT EXISTS (FROM rows_{{ q.i }} AS below WHERE below.parent = r.node) AS is_leaf
    FROM rows_{{ q.i }} AS r
),
walk_{{ q.i }} AS (
    SELECT node, parent, label, is_leaf, [node] AS line, [label] AS labels, [place] AS places
    FROM ranked_{{ q.i }}
    WHERE parent IS NULL
    UNION ALL
    SELECT
        r.node, r.parent, r.label, r.is_leaf,
        list_append(w.line, r.node), list_append(w.labels, r.label), list_append(w.places, r.place)
    FROM walk_{{ q.i }} AS w
    JOIN ranked_{{ q.i }} AS r ON r.parent = w.node
),
{% endmacro %}
