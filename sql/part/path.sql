{#- The path of a published query, shared by NAME, NAME_classes and NAME_metrics:
    source -> kept -> encoded -> grouped -> parts -> extent -> generalized -> placed -> released -> gate.
    Up to encoded and in placed there is a row a record; the rest counts records that are alike. -#}
{%- from 'part/placed.sql' import records with context -%}
{%- from 'part/few.sql' import few, end_few -%}
{%- from 'part/number.sql' import gap, coded, low_end, high_end, published_intervals with context -%}
{%- from 'part/tree.sql' import tree, published_nodes with context -%}
{%- from 'part/row.sql' import same_group with context -%}
WITH RECURSIVE
{% include 'part/source.sql' %},
kept AS (
    SELECT * FROM source
    {% if nulls == 'drop' %}
    WHERE {% for q in quasi %}{% if not loop.first %} AND {% endif %}q{{ q.i }} IS NOT NULL{% endfor %}
    {% endif %}
),
{% for q in quasi %}
{% if q.is_number %}
domain_{{ q.i }} AS MATERIALIZED (
    {{ few() }}
    SELECT
        value,
        (row_number() OVER (ORDER BY value ASC NULLS LAST) - 1)::INTEGER AS code,
        {{ gap(q, sql('value'), sql('min(value) OVER ()')) }} AS position
    FROM (SELECT DISTINCT {{ coded(q, sql('q', q.i)) }} AS value FROM kept WHERE q{{ q.i }} IS NOT NULL{{ q.is_finite }})
    {{ end_few() }}
),
{% else %}
{{ tree(q) }}
{% endif %}
{% endfor %}
{# Sensitive values that models are about, in their order. #}
{% for s in tested %}
{% if s.tree %}
{{ tree(s.tree) }}
{% endif %}
sense_{{ s.i }} AS MATERIALIZED (
    {{ few() }}
    {% if s.tree %}
    SELECT DISTINCT k.u{{ s.u }} AS value, d.code
    FROM kept AS k JOIN domain_{{ s.tree.i }} AS d ON d.value = k.q{{ s.tree.i }}
    {% else %}
    SELECT value, (row_number() OVER (ORDER BY value ASC NULLS LAST) - 1)::INTEGER AS code
    FROM (SELECT DISTINCT u{{ s.u }} AS value FROM kept WHERE u{{ s.u }} IS NOT NULL)
    {% endif %}
    {{ end_few() }}
),
{% endfor %}
{% include 'part/problem.sql' %}
{# What orders records of equal codes: a hash of all else that is published, once for each distinct combination where
    equality of the types is equality of their text. It is versioned: DuckDB's own hash may change. #}
{% macro tie(from) -%}
    md5_number_lower(row('dbanon 1'{% for u in unchanged %}, {% if u.is_zoned %}epoch_us({{ from }}u{{ u.i }}){% else %}{{ from }}u{{ u.i }}{% endif %}{% endfor %}{% if person %}, {{ from }}person{% endif %})::VARCHAR)
{%- endmacro %}
{% if tie_by == 'value' %}
ties AS MATERIALIZED (
    SELECT *, {{ tie(sql('')) }} AS tie
    FROM (SELECT DISTINCT {% for u in unchanged %}{% if not loop.first %}, {% endif %}u{{ u.i }}{% endfor %} FROM kept)
),
{% endif %}
encoded AS MATERIALIZED (
    SELECT
        s.rid, {% if tie_by == 'value' %}h.tie{% elif tie_by == 'row' %}{{ tie(sql('s.')) }} AS tie{% else %}0::UBIGINT AS tie{% endif %}

        {% for q in quasi %}, d{{ q.i }}.code AS c{{ q.i }}{% endfor %}
        {% for s in tested %}, f{{ s.i }}.code AS s{{ s.i }}{% endfor %}
        {% if person %}, CASE WHEN s.person IS NOT NULL THEN md5_number_lower(s.person::VARCHAR) END AS person{% endif %}
    FROM kept AS s
    {% for q in quasi %}
    LEFT JOIN domain_{{ q.i }} AS d{{ q.i }} ON d{{ q.i }}.value = {% if q.is_number %}{{ coded(q, sql('s.q', q.i)) }}{% else %}s.q{{ q.i }}{% endif %}

    {% endfor %}
    {% for t in tested %}
    LEFT JOIN sense_{{ t.i }} AS f{{ t.i }} ON f{{ t.i }}.value = s.u{{ t.u }}
    {% endfor %}
    {% if tie_by == 'value' %}
    JOIN ties AS h ON {% for u in unchanged %}{% if not loop.first %} AND {% endif %}h.u{{ u.i }} IS NOT DISTINCT FROM s.u{{ u.i }}{% endfor %}
    {% endif %}

),
{# Records that nothing published tells apart are one group. #}
grouped AS MATERIALIZED (
    SELECT row_number() OVER () - 1 AS gid, *
    FROM (
        SELECT tie{% for q in quasi %}, c{{ q.i }}{% endfor %}{% for s in tested %}, s{{ s.i }}{% endfor %}{% if person %}, person{% endif %}, count(*)::INTEGER AS size
        FROM encoded
        GROUP BY ALL
    )
),
{% if keep %}
{% include 'part/stays.sql' %}
{% endif %}
{% set clustered = sql('fresh') if keep else sql('grouped') %}
{# The one call of the clustering UDF; its first argument carries the checks that must hold before. #}
answer AS MATERIALIZED (
    SELECT dbanon_cluster(
        (SELECT CASE WHEN message IS NULL THEN {% if keep and suppress %}json_merge_patch({{ request }}::JSON, json_object('suppress', (SELECT least((budget + 0.5) / greatest(records, 1), 1.0) FROM arrival)))::VARCHAR{% else %}{{ request }}{% endif %} ELSE error(message) END FROM problem),
        (SELECT list(struct_pack(
            gid, size, tie{% for q in quasi %}, c{{ q.i }}{% endfor %}{% for s in tested %}, s{{ s.i }}{% endfor %}

            {%- if person %}, person{% endif %})) FROM {{ clustered }})
        {% for q in quasi %}
        {% if q.is_number and tested and person %}
        {# Clusters that publish the same ends are one class, in which a person is counted once. #}
        , (SELECT struct_pack(
            place := list(position ORDER BY code ASC), low := list(low ORDER BY code ASC), high := list(high ORDER BY code ASC)
        ) FROM (
            SELECT code, position, dense_rank() OVER (ORDER BY {{ low_end(q, sql('value')) }} ASC)::INTEGER AS low, dense_rank() OVER (ORDER BY {{ high_end(q, sql('value')) }} ASC)::INTEGER AS high
            FROM domain_{{ q.i }}
        ))
        {% elif q.is_number %}
        , (SELECT list(position ORDER BY code ASC) FROM domain_{{ q.i }})
        {% else %}
        , (SELECT struct_pack(
            parent := list(p.preorder ORDER BY t.preorder ASC),
            value := (SELECT list(preorder ORDER BY code ASC) FROM code_{{ q.i }})
        ) FROM tree_{{ q.i }} AS t LEFT JOIN tree_{{ q.i }} AS p ON p.node = t.parent)
        {% endif %}
        {% endfor %}
        {% for s in tested %}
        {% if s.tree %}
        , (SELECT struct_pack(
            parent := list(p.preorder ORDER BY t.preorder ASC),
            value := (SELECT list(preorder ORDER BY code ASC) FROM code_{{ s.tree.i }})
        ) FROM tree_{{ s.tree.i }} AS t LEFT JOIN tree_{{ s.tree.i }} AS p ON p.node = t.parent)
        {% else %}
        , (SELECT struct_pack(parent := NULL::INTEGER[], value := list(code)) FROM sense_{{ s.i }})
        {% endif %}
        {% endfor %}
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
extent AS MATERIALIZED (
    SELECT
        p.cluster, sum(p.last - p.first + 1) AS size
        {% for q in quasi %}, min(e.c{{ q.i }}) AS low{{ q.i }}, max(e.c{{ q.i }}) AS high{{ q.i }}, sum(p.last - p.first + 1) FILTER (WHERE e.c{{ q.i }} IS NOT NULL) AS filled{{ q.i }}{% endfor %}

    FROM parts AS p
    JOIN grouped AS e USING (gid)
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
