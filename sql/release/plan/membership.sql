{#- The cluster and class of each record of a release: NULL for suppressed and dropped records. Never published.
    Records with equal published values are interchangeable; if classes are kept, people stay where they were. -#}
{%- import 'table_functions/interval_text.sql' as form -%}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
{%- from 'release/plan/row_identity.sql' import tie, upper_half with context -%}
{% if with_losses is not defined %}
{% set without_losses = true %}
{% endif %}
{% include 'release/plan/pipeline.sql' %},
{% if not kept_members %}
{% include 'release/plan/record_hashes.sql' %}
{% endif %}
-- One row per part of a group: its records, its cluster and its class; NULL for suppressed records (part -1).
group_parts AS MATERIALIZED (
    SELECT p.gid, p.first, p.last, p.cluster AS part, g.cluster, g.class_id
    FROM cluster_parts AS p
    LEFT JOIN (FROM cluster_spans JOIN generalized_spans USING (span)) AS g USING (cluster)
),
-- One row per group whose records are in one cluster.
group_clusters AS MATERIALIZED (
    SELECT gid, any_value(cluster) AS cluster, any_value(class_id) AS class_id
    FROM group_parts
    GROUP BY gid
    HAVING min(part) = max(part)
),
-- One row per kind of released record and part of its group: cluster and class, and how many records. Records are
-- assigned in the order of record_classes; those that publish the same values in the order of their keys.
cluster_members AS MATERIALIZED (
    SELECT r.rid, g.cluster, g.class_id, r.size
    FROM {{ record_groups() }} AS r
    JOIN group_clusters AS g USING (gid)
    UNION ALL
    SELECT
        d.rid, p.cluster, p.class_id, \
        (least(p.last, d.last) - greatest(p.first, d.last - d.size + 1) + 1)::BIGINT AS size
    FROM (
        SELECT rid, gid, size, sum(size) OVER (PARTITION BY gid ORDER BY unchanged_hash ASC, \
            {% if key %}{% if kept_members %}cluster_id ASC NULLS LAST, {% endif %}key ASC, {% endif %}rid ASC ROWS \
            UNBOUNDED PRECEDING) AS last
        FROM (
            SELECT g.rid, g.size, g.gid, {% if unchanged %}{{ tie(sql('s.'), unchanged, false) }}\
                {% else %}0{% endif %} AS unchanged_hash{% if key %}, s.key{% if kept_members %}, \
                b.cluster_id{% endif %}{% endif +%}
            FROM source AS s
            JOIN {{ record_groups() }} AS g ON g.rid = s.rid
            ANTI JOIN group_clusters AS c ON c.gid = g.gid
            {% if key and kept_members %}
            JOIN record_hashes AS h ON h.rid = s.rid
            LEFT JOIN (
                SELECT row_hash, person_key, min(cluster_id) AS cluster_id FROM {{ kept_members }} \
                    WHERE cluster_id IS NOT NULL GROUP BY ALL
            ) AS b ON b.row_hash = h.row_hash AND b.person_key = h.person_key
            {% endif %}
        )
    ) AS d
    JOIN group_parts AS p ON p.gid = d.gid AND p.first <= d.last AND p.last > d.last - d.size
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
-- One row per hash of a record, person and cluster: how many records, and the number of one of them.
member_hashes AS MATERIALIZED (
    SELECT
        h.person_key, m.class_id, m.cluster AS cluster_id, h.row_hash, h.value_hash, min(h.rid) AS rid, \
        sum(coalesce(m.size, h.size))::BIGINT AS records
    FROM record_hashes AS h
    LEFT JOIN cluster_members AS m ON m.rid = h.rid
    WHERE (SELECT passed FROM gate)
    GROUP BY ALL
)
SELECT
    m.* EXCLUDE (rid), l.label_hash, \
    [{% for u in unchanged if not u.is_link %}{% if not loop.first %}, {% endif %}h.{{ 'hash'|of(u) }}{% endfor %}]\
    ::UBIGINT[] AS cells,
    [{% for q in quasi %}{% if not loop.first %}, {% endif %}h.{{ 'hash'|of(q) }}{% endfor %}]::UBIGINT[] AS quasi_cells
FROM member_hashes AS m
JOIN record_hashes AS h ON h.rid = m.rid
LEFT JOIN class_labels AS l ON l.class_id = m.class_id
