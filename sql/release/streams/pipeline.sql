{#- The path of a stream, shared by NAME, NAME_classes and NAME_metrics: source -> code_groups -> clustering ->
    departures -> cluster_parts -> cluster_spans -> span_ranges -> generalized_spans -> record_classes -> published_rows
    -> gate. A row of `published_rows` is a record. -#}
{%- from 'shared/record_assignment.sql' import record_groups with context -%}
{%- from 'release/plan/span_values.sql' import span_values_relation with context -%}
{%- from 'release/plan/domains.sql' import domains, group, tree_domain with context -%}
{%- from 'release/plan/number_column.sql' import exact_text with context -%}
{%- from 'release/streams/request.sql' import asked with context -%}
{% include 'release/plan/encoded.sql' %}
-- Chapter 2, cluster: the algorithm forms clusters of records as they arrive. Only dbanon_trees and dbanon_stream \
    are not SQL.
-- One row: which records were published when, from the one call of the stream function. Its first argument is an error
-- if the input has a problem.
clustering AS MATERIALIZED (
    SELECT dbanon_stream(
        {{ asked(request) }},
        (SELECT list({{ group() }}) FROM code_groups),
        (SELECT list(struct_pack(rid := rid, gid := gid)) FROM {{ record_groups() }})
        {{ domains() }}
        {% if continuation is defined %}
        {% for q in quasi %}, {% if q.is_number %}(SELECT list({{ exact_text(q) }} ORDER BY code ASC) \
            FROM {{ 'domain'|of(q) }}){% else %}{{ tree_domain(q) }}.names{% endif %}{% endfor +%}
        {% for s in model_columns %}, (SELECT list(hash ORDER BY code ASC) \
            FROM (SELECT code, min(md5_number_lower(value::VARCHAR)) AS hash FROM {{ 'sensitive codes'|of(s) }} \
            GROUP BY code)){% endfor +%}
        {% endif %}
    ) AS answer
    {% if trees %}FROM trees{% endif +%}
),
-- One row per record: the cluster with which it was published (-1: none, -2: pending), how many records had arrived
-- then (step), and its class if that was published before (again).
departures AS MATERIALIZED (
    SELECT unnest(CASE WHEN (answer).error IS NULL THEN (answer).records ELSE error((answer).error) END, max_depth := 2)
    FROM clustering
),
-- One row per group and cluster: how many records of the group were published with the cluster (last).
cluster_parts AS MATERIALIZED (
    SELECT a.gid, l.cluster, 1::INTEGER AS first, count(*)::INTEGER AS last
    FROM departures AS l
    JOIN {{ record_groups() }} AS a USING (rid)
    {% if continuation is defined %}WHERE l.cluster <> -2 AND l.again IS NULL{% endif +%}
    GROUP BY a.gid, l.cluster
),
{% include 'release/plan/generalize.sql' %}
{{ span_values_relation() }}{% if continuation is defined %}
-- One row per class that was published before: its published values.
known_classes AS MATERIALIZED (
    {% if continuation.classes %}
    SELECT {{ class_id }} AS class_id{% for r in rules %}{% if r.is_number and typed %}, \
        {{ r.ends.low }} AS {{ 'low'|of(r) }}, {{ r.ends.high }} AS {{ 'high'|of(r) }}{% else %}, \
        {{ r.text }} AS {{ 'published'|of(r) }}{% endif %}{% endfor +%}
    FROM {{ continuation.classes }}
    {% else %}
    SELECT 0::BIGINT AS class_id{% for q in quasi %}{% if q.is_number and typed %}, {{ 'low'|of(q) }}, \
        {{ 'high'|of(q) }}{% else %}, {{ 'published'|of(q) }}{% endif %}{% endfor %} FROM span_values WHERE false
    {% endif %}
),
{% endif %}
-- One row per span: its published values and its class. Spans with equal published values are one equivalence class.
-- Classes are numbered in the order of their first publication.
generalized_spans AS MATERIALIZED (
    {% if continuation is defined %}
    SELECT
        * EXCLUDE (known_as),
        coalesce(known_as, {{ continuation.max_class_id }} + dense_rank() OVER (PARTITION BY known_as IS NULL \
            ORDER BY begun ASC, {{ shown(sql('ASC NULLS LAST')) }})) AS class_id
    {% else %}
    SELECT *, dense_rank() OVER (ORDER BY begun ASC, {{ shown(sql('ASC NULLS LAST')) }}) AS class_id
    {% endif %}
    FROM (
        SELECT v.*, min(c.step) OVER (PARTITION BY {{ shown(sql(''), 'v.') }}) AS begun\
            {% if continuation is defined %}, k.class_id AS known_as{% endif +%}
        FROM span_values AS v
        {% if continuation is defined %}
        LEFT JOIN known_classes AS k ON {% for q in quasi %}{% if not loop.first %} AND {% endif %}\
            {% if q.is_number and typed %}k.{{ 'low'|of(q) }} IS NOT DISTINCT FROM v.{{ 'low'|of(q) }} \
            AND k.{{ 'high'|of(q) }} IS NOT DISTINCT FROM v.{{ 'high'|of(q) }}{% else %}k.{{ 'published'|of(q) }} \
            IS NOT DISTINCT FROM v.{{ 'published'|of(q) }}{% endif %}{% endfor +%}
        {% endif %}
        JOIN (
            SELECT c.span, min(l.step) AS step FROM departures AS l JOIN cluster_spans AS c USING (cluster) \
                GROUP BY c.span
        ) AS c USING (span)
    )
),
-- One row per record: the class with which it was published (-1: suppressed), and when.
record_classes AS MATERIALIZED (
    SELECT l.rid, CASE WHEN l.cluster = -1 THEN -1 ELSE coalesce(l.again, c.class_id) END AS class_id, \
        1::BIGINT AS size, l.step
    FROM departures AS l
    LEFT JOIN (SELECT o.cluster, g.class_id FROM cluster_spans AS o JOIN generalized_spans AS g USING (span)) AS c \
        USING (cluster)
    {% if continuation is defined %}WHERE l.cluster <> -2{% endif +%}
),
-- One row per equivalence class: its published values.
published_classes AS MATERIALIZED (
    {% if continuation is defined %}
    FROM known_classes WHERE class_id IN (SELECT again FROM departures)
    UNION
    {% endif %}
    SELECT
        g.class_id
        {% for q in quasi %}
        {% if q.is_number and typed %}, g.{{ 'low'|of(q) }}, g.{{ 'high'|of(q) }}{% else %}, \
            g.{{ 'published'|of(q) }}{% endif %}
        {% endfor %}
    FROM generalized_spans AS g
    GROUP BY ALL
),
-- One row per published record.
published_rows AS MATERIALIZED (
    SELECT
        {% for c in output %}{{ c.expression }} AS {{ c.name }}, {% endfor %}
        r.class_id AS {{ class_id }},
        r.arrived_at AS {{ stream.arrived_at }}, r.step AS {{ stream.published_at }}, \
        r.step - r.arrived_at AS {{ stream.delay }},
        r.class_id IS NULL AS {{ stream.suppressed }}
    FROM (
        SELECT
            nullif(l.class_id, -1) AS class_id, s.rid AS arrived_at, l.step
            {% for q in quasi %}
            {% if q.is_number and typed %}
            , c.{{ 'low'|of(q) }}, c.{{ 'high'|of(q) }}
            {% else %}
            , CASE WHEN l.class_id = -1 THEN '*' ELSE c.{{ 'published'|of(q) }} END AS {{ 'published'|of(q) }}
            {% endif %}
            {% endfor %}
            {% for u in unchanged %}, CASE WHEN l.class_id <> -1 THEN s.{{ u.column }} END AS {{ u.column }}{% endfor %}
        FROM source AS s
        {{ sql('JOIN') if continuation is defined else sql('LEFT JOIN') }} record_classes AS l ON l.rid = s.rid
        LEFT JOIN published_classes AS c ON c.class_id = l.class_id
        {% if stream.drops_suppressed %}
        WHERE l.class_id <> -1
        {% endif %}
    ) AS r
),
{% include 'gate/stream_gate.sql' %}
