{#- A categorical attribute: its tree, which node a value is, and the published text of a node.
    Of a column zip, "zip: hierarchy" (node, parent, label, ord) is the hierarchy as stored, "zip: tree" every node;
    "zip: domain" maps each value of the source to its code (codes ascend in leaf order). -#}
{%- from 'release/part/cardinality_hint.sql' import few, end_few -%}
{%- from 'release/part/preorder.sql' import walk -%}
{% macro tree(q) %}
{% if q.rows %}
{{ walk(q) }}
{% else %}
-- A row a node of the tree; without a hierarchy that is the values themselves under one root.
{{ 'preorder'|of(q) }} AS (
    SELECT '' COLLATE POSIX AS node, NULL::VARCHAR COLLATE POSIX AS parent, '*' COLLATE POSIX AS label, false AS is_leaf, [''] AS line, ['*'] AS labels, [0] AS places
    UNION ALL
    SELECT '=' || v.value, '', v.value, true, ['', '=' || v.value], ['*', v.value],
        [row_number() OVER (ORDER BY v.value ASC)]
    FROM (SELECT DISTINCT q{{ q.i }} AS value FROM kept WHERE q{{ q.i }} IS NOT NULL) AS v
),
{% endif %}
-- A row a name that inner nodes may be published as: their label, or their path where several have the label.
{{ 'inner nodes'|of(q) }} AS MATERIALIZED (
    SELECT DISTINCT unnest([label, CASE WHEN len(labels) > 1 THEN array_to_string(labels[2:], ' > ') END]) COLLATE POSIX AS name
    FROM {{ 'preorder'|of(q) }}
    WHERE NOT is_leaf
),
-- A row a node: the nodes from the root to it (line), its place in preorder, and the text it is published as.
{{ 'tree'|of(q) }} AS MATERIALIZED (
    SELECT
        node, parent, label, is_leaf, line, labels,
        len(line) - 1 AS depth,
        (row_number() OVER (ORDER BY places ASC) - 1)::INTEGER AS preorder,
        CASE
            WHEN is_leaf THEN
                {% if escape -%}
                CASE
                    WHEN label = '*' OR starts_with(label, '\')
                        OR label IN (FROM {{ 'inner nodes'|of(q) }})
                    THEN '\' || label ELSE label
                END
                {%- else -%} label {%- endif %}
            WHEN count(*) FILTER (WHERE NOT is_leaf) OVER (PARTITION BY label) > 1 AND len(labels) > 1
            THEN array_to_string(labels[2:], ' > ')
            ELSE label
        END COLLATE POSIX AS published
    FROM {{ 'preorder'|of(q) }}
),
{% if sub_heights %}
-- A row a node: the number of edges to its deepest leaf.
{{ 'heights'|of(q) }} AS MATERIALIZED (
    SELECT node, max(depth) - min(own) AS height
    FROM (
        SELECT unnest(line) COLLATE POSIX AS node, depth, generate_subscripts(line, 1) - 1 AS own FROM {{ 'tree'|of(q) }}
    )
    GROUP BY node
),
{% endif %}
-- A row a value of the column and the nodes of that label: its leaf; with escape = true also an inner node.
{{ 'values'|of(q) }} AS MATERIALIZED (
    SELECT v.value, count(t.node) AS hits, bool_or(t.is_leaf) AS is_leaf, bool_or(v.value = '*' OR inner_label) AS reserved, min_by(t.line, t.preorder) AS own
    FROM (
        SELECT
            value,
            value IN (FROM {{ 'inner nodes'|of(q) }}) AS inner_label
            {% if escape %}, value NOT IN (SELECT label FROM {{ 'tree'|of(q) }} WHERE is_leaf) AS no_leaf{% endif %}
        FROM (SELECT DISTINCT q{{ q.i }} AS value FROM kept WHERE q{{ q.i }} IS NOT NULL)
    ) AS v
    LEFT JOIN {{ 'tree'|of(q) }} AS t
        ON t.label = v.value
        AND (t.is_leaf{% if escape %} OR v.no_leaf{% endif %})
    GROUP BY v.value
),
-- A row a value: its code, which ascends in the order of the leaves, and the node it is clustered as (raised to
-- min_level).
{{ 'domain'|of(q) }} AS MATERIALIZED (
    {{ few() }}
    SELECT v.value, (dense_rank() OVER (ORDER BY t.preorder ASC) - 1)::INTEGER AS code, t.node
    FROM (
        SELECT value, own{% if q.min_level %}[greatest(1, len(own) - {{ q.min_level }})]{% else %}[-1]{% endif %} COLLATE POSIX AS node
        FROM {{ 'values'|of(q) }}
        WHERE hits = 1
    ) AS v
    JOIN {{ 'tree'|of(q) }} AS t ON t.node = v.node
    {{ end_few() }}
),
-- A row a code: its node's place in preorder and line of nodes from the root.
{{ 'codes'|of(q) }} AS (
    SELECT DISTINCT d.code, t.preorder, t.line
    FROM {{ 'domain'|of(q) }} AS d
    JOIN {{ 'tree'|of(q) }} AS t ON t.node = d.node
),
{% endmacro %}
{#- What is published of codes between low and high, pairs of a relation: their least common ancestor (codes ascend in
    leaf order, so it covers all between), raised to a multiple of `round` steps from the root where it is an inner node,
    and its loss (KACPC paper, Eq. 1, second sum). -#}
{% macro published_nodes(q, pairs) %}
-- A row a pair of least and greatest code: their least common ancestor, the text it is published as, and its loss.
{{ 'published'|of(q) }} AS MATERIALIZED (
    {{ few() }}
    SELECT
        pair.low, pair.high, t.node, t.published,
        CASE
            WHEN t.is_leaf OR size.levels = 1 THEN 0.0
            {% if sub_heights -%}
            ELSE (SELECT h.height FROM {{ 'heights'|of(q) }} AS h WHERE h.node = t.node)::DOUBLE / (size.levels - 1)
            {%- else -%}
            ELSE (size.levels - t.depth - 1)::DOUBLE / (size.levels - 1)
            {%- endif %}
        END AS loss
    FROM (
        {% if q.round > 1 %}
        SELECT
            c.low, c.high,
            CASE WHEN t.is_leaf THEN t.node ELSE t.line[t.depth - t.depth % {{ q.round }} + 1] END COLLATE POSIX AS node
        FROM (
        {% endif %}
        SELECT
            p.low, p.high,
            a.line[len(list_filter(list_zip(a.line, b.line), lambda z: z[1] = z[2] COLLATE POSIX))] COLLATE POSIX AS node
        FROM ({{ pairs }}) AS p
        JOIN {{ 'codes'|of(q) }} AS a ON a.code = p.low
        JOIN {{ 'codes'|of(q) }} AS b ON b.code = p.high
        {% if q.round > 1 %}
        ) AS c
        JOIN {{ 'tree'|of(q) }} AS t ON t.node = c.node
        {% endif %}
    ) AS pair
    JOIN {{ 'tree'|of(q) }} AS t ON t.node = pair.node
    CROSS JOIN (SELECT max(depth) + 1 AS levels FROM {{ 'tree'|of(q) }}) AS size
    {{ end_few() }}
),
{% endmacro %}
