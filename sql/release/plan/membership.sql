{#- The cluster and class of each record of a release: NULL for suppressed and dropped records. Never published.
    Records with equal published values are interchangeable; if classes are kept, people stay where they were. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
{%- from 'release/plan/row_identity.sql' import row_hash, value_hash, cells, quasi_cells, person_key, \
    tie, upper_half with context -%}
{% if with_losses is not defined %}
{% set without_losses = true %}
{% endif %}
{% include 'release/plan/pipeline.sql' %},
-- One row per kind of released record and cluster: its class and how many records. Records are assigned in the order of
-- record_classes; those that publish the same values in the order of their keys.
cluster_members AS MATERIALIZED (
    SELECT d.rid, p.cluster, p.class_id, \
        sum(least(p.last, d.last) - greatest(p.first, d.last - d.size + 1) + 1)::BIGINT AS size
    FROM (
        SELECT rid, gid, size, sum(size) OVER (PARTITION BY gid ORDER BY tie ASC, \
            {% if key %}{% if kept_members %}cluster_id ASC NULLS LAST, {% endif %}key ASC, {% endif %}rid ASC ROWS \
            UNBOUNDED PRECEDING) AS last
        FROM (
            SELECT g.rid, g.size, g.gid, {% if unchanged %}{{ tie(sql('s.'), unchanged, false) }}\
                {% else %}0{% endif %} AS tie{% if key %}, s.key{% if kept_members %}, \
                b.cluster_id{% endif %}{% endif +%}
            FROM source AS s
            JOIN {{ record_groups() }} AS g ON g.rid = s.rid
            {% if key and kept_members %}
            LEFT JOIN (
                SELECT row_hash, person_key, min(cluster_id) AS cluster_id FROM {{ kept_members }} \
                    WHERE cluster_id IS NOT NULL GROUP BY ALL
            ) AS b ON b.row_hash = {{ row_hash(sql('s.')) }} AND b.person_key = {{ person_key(sql('s.')) }}
            {% endif %}
        )
    ) AS d
    JOIN (
        SELECT p.gid, p.first, p.last, g.cluster, g.class_id
        FROM cluster_parts AS p
        LEFT JOIN (FROM cluster_spans JOIN generalized_spans USING (span)) AS g USING (cluster)
    ) AS p ON p.gid = d.gid AND p.first <= d.last AND p.last > d.last - d.size
    GROUP BY d.rid, p.cluster, p.class_id
),
-- One row per class: a hash of its published values with dates in days, so that 2020-03 and [2020-03-01, 2020-03-31]
-- are equal.
class_labels AS MATERIALIZED (
    SELECT DISTINCT class_id, \
        (md5_number(to_json(struct_pack(format := 'dbanon 2'{% for c in quasi_output %}, \
        n{{ loop.index }} := {{ c.label }}, v{{ loop.index }} := {% if c.is_dated %}{{ form.in_days(c.expression) }}\
        {% else %}{{ c.expression }}{% endif %}{% endfor %}))::VARCHAR) {{ upper_half() }} AS label_hash
    FROM generalized_spans
),
-- One row per kind of record: its person, and the hashes by which it is recognized. Records are hashed before they are
-- assigned to clusters, because the records of one kind can be in several.
record_hashes AS MATERIALIZED (
    SELECT
        rid, size, {{ person_key(sql('')) }} AS person_key, {{ row_hash(sql('')) }} AS row_hash,
        {{ value_hash(sql(''), false) }} AS value_hash, {{ cells(sql(''), false) }} AS cells,
        {{ quasi_cells(sql('')) }} AS quasi_cells
    FROM source
)
SELECT
    h.person_key, m.class_id, m.cluster AS cluster_id, h.row_hash, h.value_hash, any_value(h.cells) AS cells,
    any_value(h.quasi_cells) AS quasi_cells, l.label_hash, sum(coalesce(m.size, h.size))::BIGINT AS records
FROM record_hashes AS h
LEFT JOIN cluster_members AS m ON m.rid = h.rid
LEFT JOIN class_labels AS l ON l.class_id = m.class_id
WHERE (SELECT passed FROM gate)
GROUP BY ALL
