{#- The path of a published query, shared by NAME, NAME_classes and NAME_metrics:
    source -> kept -> encoded -> grouped -> parts -> extent -> generalized -> placed -> released -> gate.
    Up to encoded and in placed there is a row a record; the rest counts records that are alike. -#}
{%- from 'part/placed.sql' import records with context -%}
{%- from 'part/domains.sql' import domains, group with context -%}
{%- from 'part/few.sql' import few, end_few -%}
{%- from 'part/number.sql' import published_intervals with context -%}
{%- from 'part/tree.sql' import published_nodes with context -%}
{%- from 'part/row.sql' import same_group with context -%}
{% include 'part/encoded.sql' %}
{% if keep %}
{% include 'part/stays.sql' %}
{% endif %}
{% set clustered = sql('fresh') if keep else sql('grouped') %}
{# The one call of the clustering UDF; its first argument carries the checks that must hold before. #}
answer AS MATERIALIZED (
    SELECT dbanon_cluster(
        (SELECT CASE WHEN message IS NULL THEN {% if keep and suppress %}json_merge_patch({{ request }}::JSON, json_object('suppress', (SELECT least((budget + 0.5) / greatest(records, 1), 1.0) FROM arrival)))::VARCHAR{% else %}{{ request }}{% endif %} ELSE error(message) END FROM problem),
        (SELECT list({{ group() }}) FROM {{ clustered }})
        {{ domains() }}
    ) AS answer
),
{# The cluster of the records first to last of a group. #}
{{ sql('answered') if keep else sql('parts') }} AS MATERIALIZED (
    SELECT unnest(CASE WHEN answer.error IS NULL THEN answer.parts ELSE error(answer.error) END, max_depth := 2)
    FROM answer
),
{% if keep %}
parts AS MATERIALIZED (
    SELECT gid, cluster_id AS cluster, last - records + 1 AS first, last FROM stays
    UNION ALL
    SELECT a.gid, CASE WHEN a.cluster < 0 THEN a.cluster ELSE a.cluster + 1 + (SELECT coalesce(max(cluster_id), -1) FROM before) END, a.first + f.held, a.last + f.held
    FROM answered AS a
    JOIN fresh AS f USING (gid)
    UNION ALL
    SELECT gid, -1, held + 1, held + size FROM arrived WHERE (SELECT waits FROM arrival)
),
{% endif %}
{% if widens %}
{# Least and greatest codes that clusters are published with, where these span more than their records. #}
wide AS MATERIALIZED (SELECT unnest(answer.wide, max_depth := 2) FROM answer),
{% endif %}
extent AS MATERIALIZED (
    SELECT
        p.cluster, sum(p.last - p.first + 1) AS size
        {% for q in quasi %}
        {% if widens %}
        , least(min(e.c{{ q.i }}), min(w.low[{{ q.i + 1 }}])) AS low{{ q.i }}, greatest(max(e.c{{ q.i }}), max(w.high[{{ q.i + 1 }}])) AS high{{ q.i }}
        {% else %}
        , min(e.c{{ q.i }}) AS low{{ q.i }}, max(e.c{{ q.i }}) AS high{{ q.i }}
        {% endif %}
        , sum(p.last - p.first + 1) FILTER (WHERE e.c{{ q.i }} IS NOT NULL) AS filled{{ q.i }}
        {% endfor %}
    FROM parts AS p
    JOIN grouped AS e USING (gid)
    {% if widens %}LEFT JOIN wide AS w ON w.cluster = p.cluster{% endif %}

    {% if suppress %}WHERE p.cluster <> -1{% endif %}

    GROUP BY p.cluster
),
{% for q in quasi %}
{% if q.is_number %}
{{ published_intervals(q) }}
{% else %}
{{ published_nodes(q) }}
{% endif %}
{% endfor %}
{# What each cluster publishes, and what one record of it loses. A cluster of NULLs only publishes NULL and loses
    nothing; one that mixes NULL and values publishes `*` and loses all. Typed bounds cannot tell the two apart. #}
values_of AS (
    SELECT
        x.cluster
        {% for q in quasi %}
        {% if q.is_number %}
        , CASE WHEN x.filled{{ q.i }} = x.size THEN v{{ q.i }}.low_value END AS low{{ q.i }}
        , CASE WHEN x.filled{{ q.i }} = x.size THEN v{{ q.i }}.high_value END AS high{{ q.i }}
        {% endif %}
        {% if not (q.is_number and typed) %}
        , CASE WHEN x.filled{{ q.i }} = x.size THEN v{{ q.i }}.published WHEN x.filled{{ q.i }} > 0 THEN '*' END AS p{{ q.i }}
        {% endif %}
        , CASE
            WHEN x.filled{{ q.i }} = x.size THEN v{{ q.i }}.loss
            WHEN x.filled{{ q.i }} > 0 THEN 1.0
            ELSE {% if q.is_number and typed %}1.0{% else %}0.0{% endif %}

        END AS loss{{ q.i }}
        {% endfor %}
    FROM extent AS x
    {% for q in quasi %}
    LEFT JOIN published_{{ q.i }} AS v{{ q.i }} ON v{{ q.i }}.low = x.low{{ q.i }} AND v{{ q.i }}.high = x.high{{ q.i }}
    {% endfor %}
),
{# Clusters that publish the same values are one equivalence class: that is what a reader sees. #}
generalized AS MATERIALIZED (
    SELECT
        *,
        dense_rank() OVER (ORDER BY
            {% for q in quasi %}{% if not loop.first %}, {% endif %}
            {% if q.is_number %}low{{ q.i }} ASC NULLS LAST, high{{ q.i }} ASC NULLS LAST{% if not typed %}, p{{ q.i }} ASC NULLS LAST{% endif %}
            {% else %}p{{ q.i }} ASC NULLS LAST{% endif %}{% endfor %}

        ) AS class_id
    FROM values_of
),
{# Where records may be left out, cluster -1 and class -1 are the outliers. #}
class_of_part AS MATERIALIZED (
    SELECT p.gid, p.first, p.last, {% if suppress %}CASE WHEN p.cluster = -1 THEN -1 ELSE g.class_id END AS class_id{% else %}g.class_id{% endif %}

    FROM parts AS p
    {% if suppress %}LEFT {% endif %}JOIN generalized AS g USING (cluster)
),
{# NULL where a group has records in several classes. #}
class_of_group AS MATERIALIZED (
    SELECT e.*, p.class_id
    FROM grouped AS e
    LEFT JOIN (
        SELECT gid, CASE WHEN min(class_id) = max(class_id) THEN min(class_id) END AS class_id
        FROM class_of_part
        GROUP BY gid
    ) AS p USING (gid)
),
placed AS MATERIALIZED (
    SELECT e.rid, g.class_id
    FROM encoded AS e
    JOIN (FROM class_of_group WHERE class_id IS NOT NULL) AS g ON {{ same_group() }}
    UNION ALL
    SELECT e.rid, p.class_id
    FROM (
        SELECT e.rid, g.gid, row_number() OVER (PARTITION BY g.gid) AS place
        FROM encoded AS e
        JOIN (FROM class_of_group WHERE class_id IS NULL) AS g ON {{ same_group() }}
    ) AS e
    JOIN class_of_part AS p ON p.gid = e.gid AND e.place BETWEEN p.first AND p.last
),
published AS MATERIALIZED (
    SELECT
        g.class_id
        {% for q in quasi %}
        {% if q.is_number and typed %}, g.low{{ q.i }}, g.high{{ q.i }}{% else %}, g.p{{ q.i }}{% endif %}
        {% endfor %}
        , any_value(g.loss) AS loss
    FROM (SELECT *, {% for q in quasi %}{% if not loop.first %} + {% endif %}loss{{ q.i }}{% endfor %} AS loss FROM generalized) AS g
    GROUP BY ALL
),
{# Records that are published alike, and how many. Values that compare equal may read differently (0.0 and -0.0, a month
    and 30 days): their text tells them apart then. #}
released AS MATERIALIZED (
    SELECT l.class_id{% for u in unchanged %}, s.u{{ u.i }}{% if not u.text_is_value %}, s.u{{ u.i }}::VARCHAR AS w{{ u.i }}{% endif %}{% endfor %}, count(*) AS size
    FROM {{ records() }}
    GROUP BY ALL
),
{% include 'part/gate.sql' %}
