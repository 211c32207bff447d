{#- From the source to clusters: source -> code_groups -> cluster_parts, the cluster of the records first to last of a
    group. -#}
{%- from 'release/plan/domains.sql' import domains, group, number_positions with context -%}
{% include 'release/plan/encoded.sql' %}
{% if kept_members %}
{% include 'release/plan/kept_classes.sql' %}
{% endif %}
{#- The call of the clustering function, and the relations that its arguments read. -#}
{% macro clustering_answer() -%}
SELECT dbanon_cluster(
        (SELECT CASE WHEN message IS NULL THEN {% if kept_members and suppress %}json_merge_patch({{ request }}, \
            json_object('suppress', (SELECT least((budget + 0.5) / greatest(records, 1), 1.0) FROM arrival)))::VARCHAR\
            {% else %}{{ request }}{% endif %} ELSE error(message) END FROM problem),
        (SELECT list({{ group() }}) FROM {{ sql('new_groups') if kept_members else sql('code_groups') }})
        {{ domains() }}
    ) AS answer
    {% if trees %}FROM trees{% endif %}{% if is_wide and number_blocks %}\
        {% if trees %}, {% else %}FROM {% endif %}{{ number_positions() }}{% endif +%}
{%- endmacro %}
-- Chapter 2, cluster: the algorithm forms clusters of records. Only dbanon_trees (above) and dbanon_cluster are not \
    SQL.
{% if widens or noise %}
-- One row: the clusters and what they are published as, from the one call of the clustering function. Its first
-- argument is an error if the input has a problem.
clustering AS MATERIALIZED (
    {{ clustering_answer() }}
),
-- One row per part of a group of records: the cluster of its records number `first` to `last`.
{% else %}
-- One row per part of a group of records: the cluster of its records number `first` to `last`, from the one call
-- of the clustering function. Its first argument is an error if the input has a problem.
{% endif %}
{{ sql('new_parts') if kept_members else sql('cluster_parts') }} AS MATERIALIZED (
    SELECT unnest(CASE WHEN (answer).error IS NULL THEN (answer).parts ELSE error(\
        {% if kept_members %}'clustering the new records: ' || {% endif %}(answer).error) END, max_depth := 2)
    FROM {% if widens or noise %}clustering{% else %}(
        {{ clustering_answer() }}
    ){% endif +%}
),
{% if kept_members %}
-- One row per part of a group: its cluster, for records that stay in their class, new ones, and deferred ones (-1).
cluster_parts AS MATERIALIZED (
    SELECT gid, cluster_id AS cluster, last - records + 1 AS first, last FROM kept_groups
    UNION ALL
    SELECT a.gid, CASE WHEN a.cluster < 0 THEN a.cluster \
        ELSE a.cluster + 1 + (SELECT coalesce(max(cluster_id), -1) FROM before) END, a.first + f.held, a.last + f.held
    FROM new_parts AS a
    JOIN new_groups AS f USING (gid)
    UNION ALL
    SELECT gid, -1, held + 1, held + size FROM arrivals WHERE (SELECT waits FROM arrival)
),
{% endif %}
