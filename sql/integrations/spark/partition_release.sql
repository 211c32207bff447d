{#- The release of a part of a table, for the code that combines the parts: one row per distinct original record (own),
    with the number of records, their published values and their person (person), which are NULL for suppressed and
    dropped records. `keys` state the class among those of all parts; their order is that of the classes. `lost` is the
    loss of a record: for a number, the distance of the published ends from the lower end of the least value (a, b), or
    the loss if there are none (n); for a category, the loss by levels (t), by edges (e) and by leaves (v). No row is
    returned that the gate does not pass. -#}
{%- from 'release/plan/domains.sql' import code_ends with context -%}
{%- from 'release/plan/number_column.sql' import has_values with context -%}
{% include 'release/plan/pipeline.sql' %},
{% include 'release/plan/metric_inputs.sql' %},
{% include 'release/plan/information_loss.sql' %}
{% for q in quasi if q.is_number %}
-- One row per value: the positions of the published ends.
{{ 'ends'|of(q) }} AS MATERIALIZED (
            {{ code_ends(q) }}
),
{% endfor %}
-- One row per class: its number, and the loss of one of its records.
class_contents AS MATERIALIZED (
    SELECT
        g.class_id,
        struct_pack(
            {% for q in quasi %}
            {% if not loop.first %}, {% endif %}
            {% if q.is_number %}
            l{{ q.i }} := any_value(CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'low ends'|of(q) }}.low END), \
            h{{ q.i }} := any_value(CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'high ends'|of(q) }}.high END)\
            {% if not typed %}, {% endif %}
            {% endif %}
            {% if not (q.is_number and typed) %}
            p{{ q.i }} := any_value(g.{{ 'published'|of(q) }})
            {% endif %}
            {% endfor %}
        ) AS keys,
        struct_pack(
            {% for q in quasi %}
            {% if not loop.first %}, {% endif %}
            {% if q.is_number %}
            a{{ q.i }} := any_value(CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'low ends'|of(q) }}.below END),
            b{{ q.i }} := any_value(CASE WHEN {{ has_values(sql('x.'), q) }} THEN {{ 'high ends'|of(q) }}.above END),
            n{{ q.i }} := any_value(CASE WHEN {{ has_values(sql('x.'), q) }} THEN NULL ELSE g.{{ 'loss'|of(q) }} END)
            {% else %}
            t{{ q.i }} := any_value(g.{{ 'loss'|of(q) }}), \
            e{{ q.i }} := any_value(o.edges) FILTER (WHERE o.attribute = {{ q.i }}), \
            v{{ q.i }} := any_value(o.leaves) FILTER (WHERE o.attribute = {{ q.i }})
            {% endif %}
            {% endfor %}
        ) AS lost
    FROM span_ranges AS x
    JOIN generalized_spans AS g USING (span)
    JOIN column_losses AS o ON o.class_id = g.class_id
    {% for q in quasi if q.is_number %}
    LEFT JOIN {{ 'ends'|of(q) }} AS {{ 'low ends'|of(q) }} ON {{ 'low ends'|of(q) }}.code = x.{{ 'low'|of(q) }}
    LEFT JOIN {{ 'ends'|of(q) }} AS {{ 'high ends'|of(q) }} ON {{ 'high ends'|of(q) }}.code = x.{{ 'high'|of(q) }}
    {% endfor %}
    GROUP BY g.class_id
)
SELECT
    struct_pack({% for c in own %}{% if not loop.first %}, {% endif %}{{ c }} := d.{{ c }}{% endfor %}) AS own,
    c.published, t.keys, t.lost, {% if person %}({{ person }})::VARCHAR{% else %}NULL::VARCHAR{% endif %} AS person, \
    p.size
FROM (SELECT rid, class_id, sum(size)::BIGINT AS size FROM record_classes GROUP BY ALL) AS p
JOIN {{ origin }} AS d ON d.rowid = p.rid
LEFT JOIN class_contents AS t ON t.class_id = p.class_id
LEFT JOIN (
    SELECT class_id, struct_pack({% for o in quasi_output %}{% if not loop.first %}, {% endif %}{{ o.name }} \
        := {{ o.expression }}{% endfor %}) AS published
    FROM published_classes
) AS c ON c.class_id = p.class_id
WHERE (SELECT passed FROM gate)
