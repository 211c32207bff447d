{#- Stored hierarchies from their roots: hierarchy (tree, node, parent, label, ord) as stored, siblings, and preorder,
    every node that a root reaches with its line of nodes and labels from the root, and its places among siblings, which
    order nodes in preorder. `tree` says whose a node is. -#}
{% macro reach(hierarchy, siblings, preorder) %}
-- One row per node: its position among the children of its parent, and whether it is a leaf.
{{ siblings }} AS MATERIALIZED (
    SELECT
        r.tree, r.node, r.parent, r.label,
        row_number() OVER (PARTITION BY r.tree, r.parent ORDER BY r.ord ASC NULLS LAST, r.node ASC) AS place,
        NOT EXISTS (FROM {{ hierarchy }} AS below WHERE below.tree = r.tree AND below.parent = r.node) AS is_leaf
    FROM {{ hierarchy }} AS r
),
-- One row per node below the root: the nodes, labels and positions from the root to it.
{{ preorder }} AS (
    SELECT tree, node, parent, label, is_leaf, [node] AS line, [label] AS labels, [place] AS places
    FROM {{ siblings }}
    WHERE parent IS NULL
    UNION ALL
    SELECT
        r.tree, r.node, r.parent, r.label, r.is_leaf,
        list_append(w.line, r.node), list_append(w.labels, r.label), list_append(w.places, r.place)
    FROM {{ preorder }} AS w
    JOIN {{ siblings }} AS r ON r.tree = w.tree AND r.parent = w.node
),
{% endmacro %}
{#- The hierarchy of one column: "zip: hierarchy", "zip: siblings" and "zip: preorder". -#}
{% macro walk(q) %}
-- One row per stored node of the hierarchy.
{{ 'hierarchy'|of(q) }} AS MATERIALIZED (
    SELECT 0 AS tree, node, parent, label, ord FROM ({{ q.rows }})
),
{{ reach('hierarchy'|of(q), 'siblings'|of(q), 'preorder'|of(q)) }}
{% endmacro %}
