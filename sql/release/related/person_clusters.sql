{#- The published values of the rows of one of several related tables whose clusters are known (`assigned`). -#}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
{%- from 'release/plan/span_values.sql' import span_values_relation with context -%}
{% include 'release/plan/encoded.sql' %}
-- One row per group and cluster: how many rows of the group are in the cluster (last).
cluster_parts AS MATERIALIZED (
    SELECT g.gid, a.cluster, 1::INTEGER AS first, count(*)::INTEGER AS last
    FROM source AS s
    JOIN {{ assigned }} AS a ON a.number = s.key
    JOIN {{ record_groups() }} AS g ON g.rid = s.rid
    GROUP BY g.gid, a.cluster
),
{% include 'release/plan/generalize.sql' %}
{{ span_values_relation() }}-- One row per row of the table: its published values.
generalized_spans AS (
    SELECT s.key AS number{% for q in quasi %}, v.{{ 'published'|of(q) }}{% endfor %}{% for u in unchanged %}, \
        s.{{ u.column }}{% endfor %}, {% if quasi %}({% for q in quasi %}\
        {% if not loop.first %} + {% endif %}v.{{ 'loss'|of(q) }}{% endfor %}) / {{ quasi|length }}\
        {% else %}0.0{% endif %} AS loss
    FROM source AS s
    JOIN {{ assigned }} AS a ON a.number = s.key
    JOIN cluster_spans AS c ON c.cluster = a.cluster
    JOIN span_values AS v ON v.span = c.span
    WHERE (SELECT CASE WHEN message IS NULL THEN true ELSE error(message) END FROM problem)
)
FROM generalized_spans
