{#- The path of a published query, shared by NAME, NAME_classes and NAME_metrics:
    from source to gate. No relation has a row per record: all count equal records. -#}
{%- from 'release/plan/span_values.sql' import class_values, span_values with context -%}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{% include 'release/plan/clustered.sql' %}
{% include 'release/plan/generalize.sql' %}
-- One row per span: its published values and its class. Spans with equal published values are one equivalence class. A
-- column publishes NULL if the span has no values in it, and * if it has NULLs and values.
generalized_spans AS MATERIALIZED (
    SELECT
        *,
        dense_rank() OVER (ORDER BY
            {% for q in quasi %}{% if not loop.first %}, {% endif %}
            {% if q.is_number %}{{ 'low'|of(q) }} ASC NULLS LAST, {{ 'high'|of(q) }} ASC NULLS LAST{% if not typed %}, \
                {{ 'published'|of(q) }} ASC NULLS LAST{% endif %}
            {% else %}{{ 'published'|of(q) }} ASC NULLS LAST{% endif %}{% endfor %}
        ) AS class_id
    FROM (
        {{ span_values() }}
    )
),
-- One row per part of a group: its class.{% if suppress %} Cluster -1 and class -1 are suppressed records.{% endif +%}
part_classes AS MATERIALIZED (
    SELECT p.gid, p.first, p.last, {% if suppress %}CASE WHEN p.cluster = -1 THEN -1 \
        ELSE g.class_id END AS class_id{% else %}g.class_id{% endif %}
    FROM cluster_parts AS p
    {% if suppress %}LEFT {% endif %}JOIN cluster_spans AS c USING (cluster)
    {% if suppress %}LEFT {% endif %}JOIN generalized_spans AS g USING (span)
),
{% include 'release/plan/classes_of_records.sql' %}
{% if without_losses is not defined %}
-- One row per equivalence class: its published values, and the loss of a record.
published_classes AS MATERIALIZED (
    SELECT
        g.class_id
        {% for q in quasi %}
        {% if q.is_number and typed %}, g.{{ 'low'|of(q) }}, g.{{ 'high'|of(q) }}{% else %}, \
            g.{{ 'published'|of(q) }}{% endif %}
        {% endfor %}
        , any_value({% for q in quasi %}{% if not loop.first %} + {% endif %}g.{{ 'loss'|of(q) }}{% endfor %}) AS loss
    FROM generalized_spans AS g
    GROUP BY ALL
),
{% endif %}
{% include 'release/plan/output_rows.sql' %}
{% include 'gate/gate.sql' %}
