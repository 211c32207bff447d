{#- People and the clusters that they were put in, of related tables: rid is the number of the person. -#}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
{%- from 'release/plan/domains.sql' import domains, group with context -%}
{% include 'release/plan/clustered.sql' %}
-- One row per part of a group: its cluster, in the place of a class.
part_classes AS MATERIALIZED (SELECT gid, first, last, cluster AS class_id FROM cluster_parts),
{% include 'release/plan/classes_of_records.sql' %}
{% if l %}
-- One row per person: the group of equal persons, and the cluster.
dealt AS MATERIALIZED (
    SELECT rid, g.gid, p.class_id AS cluster FROM record_classes AS p JOIN {{ record_groups() }} AS g USING (rid)
),
-- One row: the clusters, merged until no sensitive value is too frequent in one of them.
diverse AS MATERIALIZED (
    SELECT dbanon_diversify(
        {{ diversify }},
        (SELECT list({{ group() }}) FROM code_groups),
        (SELECT list(struct_pack(rid := m.rid, gid := m.gid, cluster := m.cluster, \
            sizes := [1{% for t in children %}, least(p.{{ 'row count'|of(t) }}, {{ cap }}){% endfor %}]))
            FROM dealt AS m JOIN persons AS p ON p.rowid = m.rid),
        (SELECT coalesce(list(struct_pack(rid := rid, holding := holding, place := place, value := value)), []) \
            FROM held)
        {{ domains() }}
    ) AS answer
    {% if trees %}FROM trees{% endif +%}
)
SELECT unnest(CASE WHEN (answer).error IS NULL THEN (answer).people ELSE error((answer).error) END, max_depth := 2)
FROM diverse
{% else %}
-- One row per person: the cluster.
dealt AS (SELECT rid, class_id AS cluster FROM record_classes)
FROM dealt
{% endif %}
