{#- One row per class: the loss of one of its records, from 0 to 1 (CASTLE's loss, Cao et al. 2011): for a number, the
    width of its interval over the width of all published values; for a category, the leaves below its node less one,
    over all leaves less one. -#}
{% set trees_of = quasi|rejectattr('is_number')|list %}
SELECT g.class_id, any_value((
    {%- for q in quasi %}{{ sql(' + ') if not loop.first }}
    {%- if q.is_number %}g.{{ 'loss'|of(q) }}
    {%- else %}CASE WHEN coalesce(x.{{ 'filled'|of(q) }}, 0) = 0 THEN 0.0 \
        WHEN x.{{ 'filled'|of(q) }} = x.size\
        {% if stream.maybe_match %} OR true{% endif %} THEN {{ 'share'|of(q) }}.share ELSE 1.0 END
    {%- endif %}{% endfor %}) / {{ quasi|length }}) AS loss
FROM generalized_spans AS g
JOIN span_ranges AS x ON x.span = g.span
{% for q in trees_of %}
LEFT JOIN (
    SELECT n.low, n.high, (t.leaves - 1)::DOUBLE / greatest(root.leaves - 1, 1) AS share
    FROM range_nodes AS n
    JOIN nodes AS t ON t.tree = n.tree AND t.node = n.node
    JOIN nodes AS root ON root.tree = n.tree AND root.node = 0
    WHERE n.tree = {{ q.tree }}
) AS {{ 'share'|of(q) }} ON {{ 'share'|of(q) }}.low = x.{{ 'low'|of(q) }} \
    AND {{ 'share'|of(q) }}.high = x.{{ 'high'|of(q) }}
{% endfor %}
GROUP BY g.class_id
