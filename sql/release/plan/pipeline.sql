{#- The path of a published query, shared by NAME, NAME_classes and NAME_metrics:
    source -> kept -> tuples -> encoded -> grouped -> parts -> extent -> generalized -> placed -> alike -> leaving -> gate.
    None has a row a record: all count records that are alike. -#}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{% include 'release/plan/clustered.sql' %}
{% include 'release/plan/generalize.sql' %}
-- A row a span and its class: those that publish the same are one equivalence class, as that is what a reader sees.
generalized_spans AS MATERIALIZED (
    SELECT
        *,
        dense_rank() OVER (ORDER BY
            {% for q in quasi %}{% if not loop.first %}, {% endif %}
            {% if q.is_number %}{{ 'low'|of(q) }} ASC NULLS LAST, {{ 'high'|of(q) }} ASC NULLS LAST{% if not typed %}, {{ 'published'|of(q) }} ASC NULLS LAST{% endif %}
            {% else %}{{ 'published'|of(q) }} ASC NULLS LAST{% endif %}{% endfor %}
        ) AS class_id
    FROM span_values
),
-- A row a cluster: its size, its span and its class.
cluster_classes AS MATERIALIZED (
    SELECT c.cluster, c.size, c.span, g.class_id FROM cluster_spans AS c JOIN generalized_spans AS g USING (span)
),
-- A row a part of a group: its class. Where records may be left out, cluster -1 and class -1 are the outliers.
part_classes AS MATERIALIZED (
    SELECT p.gid, p.first, p.last, {% if suppress %}CASE WHEN p.cluster = -1 THEN -1 ELSE g.class_id END AS class_id{% else %}g.class_id{% endif %}
    FROM cluster_parts AS p
    {% if suppress %}LEFT {% endif %}JOIN cluster_classes AS g USING (cluster)
),
{% include 'release/plan/classes_of_records.sql' %}
-- A row an equivalence class: what it publishes, and what a record of it loses.
published_classes AS MATERIALIZED (
    SELECT
        g.class_id
        {% for q in quasi %}
        {% if q.is_number and typed %}, g.{{ 'low'|of(q) }}, g.{{ 'high'|of(q) }}{% else %}, g.{{ 'published'|of(q) }}{% endif %}
        {% endfor %}
        , any_value(g.loss) AS loss
    FROM (SELECT *, {% for q in quasi %}{% if not loop.first %} + {% endif %}{{ 'loss'|of(q) }}{% endfor %} AS loss FROM generalized_spans) AS g
    GROUP BY ALL
),
-- A row a kind of record that is published alike: its class, what is published unchanged, and how many there are.
-- Values that compare equal may read differently (0.0 and -0.0, a month and 30 days): their text tells them apart.
distinct_rows AS MATERIALIZED (
    SELECT l.class_id{% for u in unchanged %}, s.{{ u.column }}{% if not u.text_is_value %}, s.{{ 'text'|of(u) }}{% endif %}{% endfor %}, sum({{ dealt() }})::BIGINT AS size
    FROM {{ records() }}
    GROUP BY ALL
),
{% include 'release/plan/output_rows.sql' %}
{% include 'gate/gate.sql' %}
