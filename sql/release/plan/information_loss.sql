{#- What records lose in the published values, summed over all of them: `lost` has one row. The columns differ in what
    an inner node of a hierarchy loses: edges, the height of its own subtree over that of the whole (k-member); leaves,
    its share of the leaves (NCP), 0 for a leaf. A number loses the same in both. NULLs as in span_values.sql. -#}
{% if quasi|rejectattr('is_number')|list %}
-- One row per hierarchy and pair of codes: the loss of their common node, by edges and by leaves.
node_losses AS MATERIALIZED (
    SELECT p.tree, p.low, p.high, {% if widens %}p.raised, {% endif %}coalesce(t.height::DOUBLE / nullif(root.height, \
        0), 0.0) AS edges, CASE WHEN t.height = 0 THEN 0.0 ELSE t.leaves::DOUBLE / root.leaves END AS leaves
    FROM range_nodes AS p
    JOIN nodes AS t ON t.tree = p.tree AND t.node = p.node
    JOIN nodes AS root ON root.tree = p.tree AND root.node = 0
),
{% endif %}
-- One row per class: the loss of a record in each column. Clusters that publish the same values have the same loss.
class_losses AS MATERIALIZED (
    SELECT
        g.class_id
        {% for q in quasi %}
        {% if q.is_number %}
        , any_value(g.{{ 'loss'|of(q) }}) AS {{ 'loss'|of(q) }}
        {% else %}
        {% for kind in ('edges', 'leaves') %}
        , any_value(CASE {% if widens %}WHEN x.{{ 'raised'|of(q) }} = -2 \
            THEN 1.0 {% endif %}WHEN x.{{ 'filled'|of(q) }} = x.size THEN {{ 'lost'|of(q) }}.{{ sql(kind) }} \
            WHEN x.{{ 'filled'|of(q) }} > 0 THEN 1.0 ELSE 0.0 END) AS {{ kind|of(q) }}
        {% endfor %}
        {% endif %}
        {% endfor %}
    FROM span_ranges AS x
    JOIN generalized_spans AS g USING (span)
    {% for q in quasi if not q.is_number %}
    LEFT JOIN (FROM node_losses WHERE tree = {{ q.tree }}) AS {{ 'lost'|of(q) }} ON {{ 'lost'|of(q) }}.low \
        = x.{{ 'low'|of(q) }} AND {{ 'lost'|of(q) }}.high = x.{{ 'high'|of(q) }}\
        {% if widens %} AND {{ 'lost'|of(q) }}.raised = x.{{ 'raised'|of(q) }}{% endif +%}
    {% endfor %}
    GROUP BY g.class_id
),
-- One row: the loss of all records, by edges and by leaves.
lost AS MATERIALIZED (
    SELECT
        {% for kind in ('edges', 'leaves', 'numbers') %}
        sum((c.size * (0.0
            {% for q in quasi %}
            {% if q.is_number %}
            + l.{{ 'loss'|of(q) }}
            {% elif kind != 'numbers' %}
            + l.{{ kind|of(q) }}
            {% endif %}
            {% endfor %}
        ))::DECIMAL(38, 12))::DOUBLE AS {{ sql(kind) }}{% if not loop.last %},{% endif %}
        {% endfor %}
    FROM class_losses AS l
    JOIN sized_classes AS c USING (class_id)
),
