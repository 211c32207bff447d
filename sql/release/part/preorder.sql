{#- A stored hierarchy from its root: "zip: hierarchy" (node, parent, label, ord) as stored, "zip: preorder" every node that the root reaches
    with its line of nodes and labels from the root, and its places among siblings, which order nodes in preorder. -#}
{% macro walk(q) %}
-- A row a node of the hierarchy, as it is stored.
{{ 'hierarchy'|of(q) }} AS MATERIALIZED (
    {{ q.rows }}
),
-- A row a node: its place among the children of its parent, and whether it is a leaf.
{{ 'siblings'|of(q) }} AS (
    SELECT
        r.node, r.parent, r.label,
        row_number() OVER (PARTITION BY r.parent ORDER BY r.ord ASC NULLS LAST, r.node ASC) AS place,
        NOT EXISTS (FROM {{ 'hierarchy'|of(q) }} AS below WHERE below.parent = r.node) AS is_leaf
    FROM {{ 'hierarchy'|of(q) }} AS r
),
-- A row a node that the root reaches: the nodes, labels and places from the root to it.
{{ 'preorder'|of(q) }} AS (
    SELECT node, parent, label, is_leaf, [node] AS line, [label] AS labels, [place] AS places
    FROM {{ 'siblings'|of(q) }}
    WHERE parent IS NULL
    UNION ALL
    SELECT
        r.node, r.parent, r.label, r.is_leaf,
        list_append(w.line, r.node), list_append(w.labels, r.label), list_append(w.places, r.place)
    FROM {{ 'preorder'|of(q) }} AS w
    JOIN {{ 'siblings'|of(q) }} AS r ON r.parent = w.node
),
{% endmacro %}
