{#- Categorical attributes: their trees, which node a value is, and the published text of a node. Each relation holds those of
    all columns; `tree` says whose they are. -#}
{%- from 'release/part/cardinality_hint.sql' import few, end_few -%}
{%- from 'release/part/preorder.sql' import reach -%}
{#- A setting of trees (columns or rules of the gate) as a number, by the column that says whose tree it is. -#}
{% macro setting(trees, name, otherwise, tree) -%}
    {%- for q in trees if q[name] is not none and q[name] != otherwise -%}
        {%- if loop.first -%} CASE {{ tree }} {%- endif %} WHEN {{ q.tree }} THEN {{ q[name] }}{% if loop.last %} ELSE {{ otherwise }} END{% endif -%}
    {%- else -%} {{ otherwise }}
    {%- endfor -%}
{%- endmacro %}
{% macro hierarchies(stored) -%}
-- A row a node of a hierarchy, as it is stored.
hierarchy AS MATERIALIZED (
    {% for q in stored %}
    SELECT {{ q.tree }} AS tree, node, parent, label, ord FROM ({{ q.rows }})
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
{%- endmacro %}
{% macro all_trees(trees, from, larger=none) %}
{% set stored = trees|selectattr('rows')|list %}
{% set flat = trees|rejectattr('rows')|list %}
-- A row a tree and a value of its column: {% for q in trees %}tree {{ q.tree }} is {{ q.plain|comment }}{{ sql('; ') if not loop.last }}{% endfor +%}
category AS MATERIALIZED (
    {% for q in trees %}
    SELECT {{ q.tree }} AS tree, value FROM (SELECT DISTINCT q{{ q.i }} AS value FROM {{ 'larger'|of(q) if larger else from }} WHERE q{{ q.i }} IS NOT NULL)
    {% if grown is defined and not q.rows and not q.is_sensitive %}
    UNION SELECT {{ q.tree }}, value COLLATE POSIX FROM (SELECT unnest({{ grown.values[q.i] }}) AS value)
    {% endif %}
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
),
{% if stored %}
{{ hierarchies(stored) }}
{{ reach(sql('hierarchy'), sql('siblings'), sql('reached')) }}
{% endif %}
-- The same, with the trees of columns without a hierarchy: the values themselves under one root.
preorder AS MATERIALIZED (
    {% if flat %}
    SELECT unnest([{% for q in flat %}{{ q.tree }}{{ sql(', ') if not loop.last }}{% endfor %}]) AS tree, '' COLLATE POSIX AS node, NULL::VARCHAR COLLATE POSIX AS parent, '*' COLLATE POSIX AS label, false AS is_leaf, [''] AS line, ['*'] AS labels, [0] AS places
    UNION ALL
    SELECT tree, '=' || value, '', value, true, ['', '=' || value], ['*', value], [row_number() OVER (PARTITION BY tree ORDER BY value ASC)]
    FROM category
    WHERE tree IN ({% for q in flat %}{{ q.tree }}{{ sql(', ') if not loop.last }}{% endfor %})
    {% if stored %}UNION ALL{% endif %}
    {% endif %}
    {% if stored %}
    FROM reached
    {% endif %}
),
-- A row a name that inner nodes may be published as: their label, or their path where several have the label.
inner_nodes AS MATERIALIZED (
    SELECT DISTINCT tree, unnest([label, CASE WHEN len(labels) > 1 THEN array_to_string(labels[2:], ' > ') END]) COLLATE POSIX AS name
    FROM preorder
    WHERE NOT is_leaf
),
-- A row a node: the nodes from the root to it (line), its place in preorder, and the text it is published as.
nodes AS MATERIALIZED (
    SELECT
        p.tree, p.node, p.parent, p.label, p.is_leaf, p.line, p.labels,
        len(p.line) - 1 AS depth,
        (row_number() OVER (PARTITION BY p.tree ORDER BY p.places ASC) - 1)::INTEGER AS preorder,
        CASE
            WHEN p.is_leaf THEN
                {% if escape -%}
                CASE WHEN p.label = '*' OR starts_with(p.label, '\') OR i.name IS NOT NULL THEN '\' || p.label ELSE p.label END
                {%- else -%} p.label {%- endif %}
            WHEN s.label IS NOT NULL AND len(p.labels) > 1
            THEN array_to_string(p.labels[2:], ' > ')
            ELSE p.label
        END COLLATE POSIX AS published
    FROM preorder AS p
    {# A window would carry the lists of every node along. #}
    LEFT JOIN (
        SELECT tree, label FROM preorder WHERE NOT is_leaf GROUP BY tree, label HAVING count(*) > 1
    ) AS s ON s.tree = p.tree AND s.label = p.label
    {% if escape %}
    LEFT JOIN inner_nodes AS i ON i.tree = p.tree AND i.name = p.label
    {% endif %}
),
{% if sub_heights %}
-- A row a node: the number of edges to its deepest leaf.
heights AS MATERIALIZED (
    SELECT tree, node, max(depth) - min(own) AS height
    FROM (
        SELECT tree, unnest(line) COLLATE POSIX AS node, depth, generate_subscripts(line, 1) - 1 AS own FROM nodes
    )
    GROUP BY tree, node
),
{% endif %}
-- A row a value of a column: how many nodes have its label, which of them it is, and whether it could be taken for an
-- inner node. It is a leaf; with escape = true also an inner node.
tree_value AS MATERIALIZED (
    SELECT v.tree, v.value, count(t.node) AS hits, bool_or(t.is_leaf) AS is_leaf, {% if not escape %}bool_or(v.value = '*' OR i.name IS NOT NULL) AS reserved, {% endif %}min_by(t.line, t.preorder) AS own
    FROM category AS v
    {% if escape %}
    LEFT JOIN (SELECT DISTINCT tree, label FROM nodes WHERE is_leaf) AS l ON l.tree = v.tree AND l.label = v.value
    {% else %}
    LEFT JOIN inner_nodes AS i ON i.tree = v.tree AND i.name = v.value
    {% endif %}
    LEFT JOIN nodes AS t
        ON t.tree = v.tree AND t.label = v.value
        AND (t.is_leaf{% if escape %} OR l.label IS NULL{% endif %})
    GROUP BY v.tree, v.value
),
-- A row a value: its code, which ascends in the order of the leaves, and the node it is clustered as (raised to
-- min_level).
tree_code AS MATERIALIZED (
    {{ few() }}
    SELECT v.tree, v.value, (dense_rank() OVER (PARTITION BY v.tree ORDER BY t.preorder ASC) - 1)::INTEGER AS code, t.node
    FROM (
        SELECT tree, value, own{% if trees|selectattr('min_level')|list %}[greatest(1, len(own) - {{ setting(trees, 'min_level', 0, sql('tree')) }})]{% else %}[-1]{% endif %} COLLATE POSIX AS node
        FROM tree_value
        WHERE hits = 1
    ) AS v
    JOIN nodes AS t ON t.tree = v.tree AND t.node = v.node
    {{ end_few() }}
),
-- A row a code: its node's place in preorder and line of nodes from the root.
code_node AS MATERIALIZED (
    SELECT DISTINCT d.tree, d.code, t.preorder, t.line
    FROM tree_code AS d
    JOIN nodes AS t ON t.tree = d.tree AND t.node = d.node
),
-- One row: of each tree the parents of its nodes in preorder, and the nodes of the codes.
tree_domain AS MATERIALIZED (
    SELECT
        {% for q in trees %}
        any_value(t.parents) FILTER (WHERE t.tree = {{ q.tree }}) AS parents_{{ q.i }}, any_value(c.places) FILTER (WHERE t.tree = {{ q.tree }}) AS places_{{ q.i }}{% if grown is defined %}, any_value(t.names) FILTER (WHERE t.tree = {{ q.tree }}) AS names_{{ q.i }}{% endif %}{% if not loop.last %},{% endif +%}
        {% endfor %}
    FROM (
        SELECT t.tree, list(p.preorder ORDER BY t.preorder ASC) AS parents{% if grown is defined %}, list(t.node ORDER BY t.preorder ASC) AS names{% endif +%}
        FROM nodes AS t
        LEFT JOIN nodes AS p ON p.tree = t.tree AND p.node = t.parent
        GROUP BY t.tree
    ) AS t
    LEFT JOIN (SELECT tree, list(preorder ORDER BY code ASC) AS places FROM code_node GROUP BY tree) AS c USING (tree)
),
{% endmacro %}
{#- What is published of codes between low and high, pairs (tree, low, high) of a relation: their least common ancestor (codes
    ascend in leaf order, so it covers all between), raised to a multiple of `round` steps from the root where it is an
    inner node, and its loss (KACPC paper, Eq. 1, second sum). -#}
{% macro published_nodes(trees, pairs) %}
{% set is_rounded = trees|map(attribute='round')|max > 1 %}
-- A row a tree and a pair of least and greatest code: their least common ancestor, the text it is published as, and its
-- loss.
published_node AS MATERIALIZED (
    {{ few() }}
    SELECT
        pair.tree, pair.low, pair.high, t.node, t.published,
        CASE
            WHEN t.is_leaf OR size.levels = 1 THEN 0.0
            {% if sub_heights -%}
            ELSE h.height::DOUBLE / (size.levels - 1)
            {%- else -%}
            ELSE (size.levels - t.depth - 1)::DOUBLE / (size.levels - 1)
            {%- endif %}
        END AS loss
    FROM (
        {% if is_rounded %}
        SELECT
            c.tree, c.low, c.high,
            CASE WHEN t.is_leaf THEN t.node ELSE t.line[t.depth - t.depth % c.round + 1] END COLLATE POSIX AS node
        FROM (
        {% endif %}
        SELECT
            p.tree, p.low, p.high, {% if is_rounded %}{{ setting(trees, 'round', 1, sql('p.tree')) }} AS round, {% endif %}
            a.line[len(list_filter(list_zip(a.line, b.line), lambda z: z[1] = z[2] COLLATE POSIX))] COLLATE POSIX AS node
        FROM ({{ pairs }}) AS p
        JOIN code_node AS a ON a.tree = p.tree AND a.code = p.low
        JOIN code_node AS b ON b.tree = p.tree AND b.code = p.high
        {% if is_rounded %}
        ) AS c
        JOIN nodes AS t ON t.tree = c.tree AND t.node = c.node
        {% endif %}
    ) AS pair
    JOIN nodes AS t ON t.tree = pair.tree AND t.node = pair.node
    JOIN (SELECT tree, max(depth) + 1 AS levels FROM nodes GROUP BY tree) AS size ON size.tree = pair.tree
    {% if sub_heights %}
    JOIN heights AS h ON h.tree = pair.tree AND h.node = t.node
    {% endif %}
    {{ end_few() }}
),
{% endmacro %}
