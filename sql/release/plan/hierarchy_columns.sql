{#- Categorical attributes: their trees, which node a value is, and the published text of a node. Each relation holds
    those of all columns; `tree` says whose they are. -#}
{%- from 'shared/small_relation_hint.sql' import few, end_few -%}
{%- from 'shared/hierarchies.sql' import hierarchies, setting -%}
{%- from 'release/plan/column_rows.sql' import column_list -%}
{% macro all_trees(trees, from, whole_table=none, is_wide=false) %}
{% set stored = trees|selectattr('rows')|list %}
{% set flat = trees|rejectattr('rows')|list %}
{% if stored %}
{{ hierarchies(stored) }}
{% endif %}
-- One row: the hierarchies, from the one call of the function that reads them: nodes, codes of values, facts about \
    problems, and what the clustering needs (domains).
trees AS MATERIALIZED (
    SELECT dbanon_trees(
        '{"escape": {{ sql('true') if escape else sql('false') }}, "names": {{ sql('true') if continuation is defined \
            else sql('false') }}, \
            {% if counts_used_leaves is defined and counts_used_leaves %}"used": true, {% endif %}\
            "trees": [{% for q in trees %}[{{ q.tree }}, {{ sql('true') if q.rows else \
            sql('false') }}, {{ q.min_level or 0 }}, {{ sql('true') if q.is_sensitive else sql('false') }}]{{ sql(', \
            ') if not loop.last }}{% endfor %}]}',
        (SELECT list(struct_pack(tree := tree, value := value) ORDER BY tree ASC, value ASC)
            FROM (
                {% if not whole_table and continuation is not defined %}
                SELECT DISTINCT tree, value
                FROM (
                    SELECT unnest([{% for q in trees %}{{ q.tree }}{{ sql(', ') if not loop.last }}{% endfor %}]) AS \
                        tree, unnest({{ column_list(trees, sql('')) }}) COLLATE POSIX AS value
                    FROM {{ from }}
                )
                WHERE value IS NOT NULL
                {% else %}
                {% for q in trees %}
                SELECT DISTINCT {{ q.tree }} AS tree, {{ q.column }} AS value
                FROM {{ 'larger'|of(q) if whole_table else from }} WHERE {{ q.column }} IS NOT NULL
                {% if continuation is defined and not q.rows and not q.is_sensitive %}
                UNION SELECT {{ q.tree }}, value COLLATE POSIX \
                    FROM (SELECT unnest({{ continuation.values[q.i] }}) AS value)
                {% endif %}
                {% if not loop.last %}UNION ALL{% endif +%}
                {% endfor %}
                {% endif %}
            )),
        {% if stored %}(SELECT list(struct_pack(tree := tree, node := node, parent := parent, label := label)
            ORDER BY tree ASC, ord ASC NULLS LAST, node ASC) FROM hierarchy){% else %}NULL{% endif +%}
    ) AS read
),
-- One row per node: its position in preorder (node), the nodes from the root to it (line), its depth and height, the
-- number of leaves below it, the code of its values, and the text that it is published as.
nodes AS MATERIALIZED (
    SELECT
        tree, node, parent, depth, height, leaves, is_leaf, code, label COLLATE POSIX AS label, \
        published COLLATE POSIX AS published, line
    FROM (SELECT unnest((read).nodes, max_depth := 2) FROM trees)
),
-- One row per value: its code, in the order of the leaves, the node as which it is clustered\
    {% if trees|selectattr('min_level')|list %} (raised to min_level){% endif %}, and its own node.
value_codes AS MATERIALIZED (
    SELECT tree, value COLLATE POSIX AS value, code, node, own
    FROM (SELECT unnest((read).codes, max_depth := 2) FROM trees)
),
{% endmacro %}
{#- The published node of codes between low and high, for pairs (tree, low, high) of a relation: their least common
    ancestor (codes ascend in leaf order, so it covers all between), raised to a multiple of `round` steps from the
    root if it is an inner node, and its loss (KACPC paper, Eq. 1, second sum). `is_raised`: pairs have the node that
    is published instead, or a negative number (raised). -#}
{% macro published_nodes(trees, pairs, is_raised=false) %}
{% set is_rounded = trees|map(attribute='round')|max > 1 %}
-- One row per hierarchy and pair of least and greatest code: their lowest common ancestor, and its published text.
range_nodes AS MATERIALIZED (
    {{ few() }}
    SELECT
        pair.tree, pair.low, pair.high, {% if is_raised %}pair.raised, {% endif %}t.node, t.published
        {%- if without_losses is not defined %},
        CASE
            WHEN t.is_leaf OR size.levels = 1 THEN 0.0
            {% if sub_heights %}
            ELSE t.height::DOUBLE / (size.levels - 1)
            {% else %}
            ELSE (size.levels - t.depth - 1)::DOUBLE / (size.levels - 1)
            {% endif %}
        END AS loss
        {%- endif +%}
    FROM (
        {% if is_rounded %}
        SELECT
            c.tree, c.low, c.high, {% if is_raised %}c.raised,{% endif +%}
            CASE WHEN t.is_leaf THEN t.node \
                ELSE t.line[t.depth - t.depth % {{ setting(trees, 'round', 1, sql('c.tree')) }} + 1] END AS node
        FROM (
        {% endif %}
        SELECT
            p.*,
            {% if is_raised %}CASE WHEN p.raised >= 0 \
                THEN p.raised ELSE {% endif %}a.line[len(list_filter(list_zip(a.line, b.line), \
                lambda z: z[1] = z[2]))]{% if is_raised %} END{% endif %} AS node
        FROM (
            {{ pairs }}
        ) AS p
        {# Left joins are not reordered: DuckDB, which expects few codes, would join them with each other first. #}
        LEFT JOIN nodes AS a ON a.tree = p.tree AND a.code = p.low
        LEFT JOIN nodes AS b ON b.tree = p.tree AND b.code = p.high
        {% if is_rounded %}
        ) AS c
        JOIN nodes AS t ON t.tree = c.tree AND t.node = c.node
        {% endif %}
    ) AS pair
    JOIN nodes AS t ON t.tree = pair.tree AND t.node = pair.node
    {% if without_losses is not defined %}
    JOIN (SELECT tree, max(depth) + 1 AS levels FROM nodes GROUP BY tree) AS size ON size.tree = pair.tree
    {% endif %}
    {{ end_few() }}
),
{% endmacro %}
