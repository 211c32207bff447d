{#- The steps of a release of noise, shared by its three statements. After the clustering: part_classes -> drawn_values,
    class_seats -> noisy_records -> distinct_rows -> gate. A class is a cluster: its records are not equal. -#}
{%- from 'release/plan/span_values.sql' import span_values_relation with context -%}
{%- from 'release/plan/number_column.sql' import coded, low_end, value_at with context -%}
{%- from 'shared/record_assignment.sql' import dealt, records with context -%}
{%- from 'release/plan/hierarchy_columns.sql' import published_nodes with context -%}
{% include 'release/plan/clustered.sql' %}
-- Chapter 3, generalize: the values of each cluster are replaced by the values that were drawn for it.
{% if generalized %}
{% include 'release/plan/generalize.sql' %}
{{ span_values_relation() }}{% endif %}
-- One row per part of a group: its class. Cluster -1 and class -1 are suppressed records.
part_classes AS MATERIALIZED (
    SELECT gid, first, last, CASE WHEN cluster = -1 THEN -1 ELSE cluster::BIGINT + 1 END AS class_id FROM cluster_parts
),
{% include 'release/plan/classes_of_records.sql' %}
-- One row per seat of a class: the codes and positions that were drawn for it, in random order.
drawn_values AS MATERIALIZED (
    SELECT cluster::BIGINT + 1 AS class_id, seat, code, position
    FROM (SELECT unnest((answer).drawn, max_depth := 2) FROM clustering)
),
-- One row per record: its class, its seat in the class, and its unchanged values.
class_seats AS MATERIALIZED (
    SELECT
        s.class_id,
        row_number() OVER (PARTITION BY s.class_id{% for u in unchanged %}\
            {% if loop.first %} ORDER BY {% else %}, {% endif %}{{ sql(u.sort_key(sql('s.', u.column))) }} ASC NULLS \
            LAST{% if not u.text_is_value %}, s.{{ 'text'|of(u) }} ASC NULLS LAST{% endif %}{% endfor %}) AS seat
        {% for u in unchanged %}, s.{{ u.column }}{% if not u.text_is_value %}, \
            s.{{ 'text'|of(u) }}{% endif %}{% endfor %}
    FROM (SELECT s.* EXCLUDE (size), l.class_id, unnest(range({{ dealt() }})) AS copy FROM {{ records() }}) AS s
),
{% set drawn_trees = quasi|rejectattr('is_number')|selectattr('is_drawn')|list %}
{% if drawn_trees %}
{{ published_nodes(drawn_trees, \
    sql('SELECT DISTINCT tree, code AS low, code AS high FROM value_codes WHERE tree >= 0')) }}
{% endif %}
{# The least and the greatest value that is released. #}
{% for q in quasi if q.is_drawn and q.is_number %}
-- One row: the least and greatest released value.
{{ 'range'|of(q) }} AS MATERIALIZED (
    SELECT min(value) AS low, max(value) AS high
    FROM {{ 'domain'|of(q) }}
    {% if suppress %}WHERE code IN (SELECT e.{{ 'code'|of(q) }} \
        FROM cluster_parts AS p JOIN code_groups AS e USING (gid) WHERE p.cluster <> -1){% endif %}
),
{% endfor %}
-- One row per record: the values that are published in place of its own values.
noisy_records AS MATERIALIZED (
    SELECT
        t.*
        {% for q in quasi %}
        {% if not q.is_drawn %}
        , g.{{ 'published'|of(q) }} AS {{ 'drawn'|of(q) }}
        {% elif q.is_number %}
        {% set value = value_at(q, sql('range'|of(q), '.low'), sql('range'|of(q), '.high'), \
            sql('d.position[', q.i + 1, ']')) %}
        , coalesce({{ 'drawn value'|of(q) }}.value, CASE WHEN d.position[{{ q.i + 1 }}] IS NOT NULL THEN
            {% if by_column %}{{ coded(q, value) }}{% else %}least(greatest({{ value }}, {{ 'range'|of(q) }}.low), \
                {{ 'range'|of(q) }}.high){% endif %}
        END) AS {{ 'drawn'|of(q) }}
        {% else %}
        , {{ 'drawn value'|of(q) }}.published AS {{ 'drawn'|of(q) }}
        {% endif %}
        {% endfor %}
    FROM class_seats AS t
    LEFT JOIN drawn_values AS d ON d.class_id = t.class_id AND d.seat = t.seat
    {% if generalized %}
    LEFT JOIN cluster_spans AS o ON o.cluster::BIGINT + 1 = t.class_id
    LEFT JOIN span_values AS g ON g.span = o.span
    {% endif %}
    {% for q in quasi if q.is_drawn %}
    {% if q.is_number %}
    LEFT JOIN {{ 'domain'|of(q) }} AS {{ 'drawn value'|of(q) }} ON {{ 'drawn value'|of(q) }}.code \
        = d.code[{{ q.i + 1 }}]
    CROSS JOIN {{ 'range'|of(q) }} AS {{ 'range'|of(q) }}
    {% else %}
    LEFT JOIN (FROM range_nodes WHERE tree = {{ q.tree }}) AS {{ 'drawn value'|of(q) }} \
        ON {{ 'drawn value'|of(q) }}.low = d.code[{{ q.i + 1 }}]
    {% endif %}
    {% endfor %}
),
-- One row per distinct published row, and the number of records. Numbers are rounded as interval bounds are.
distinct_rows AS MATERIALIZED (
    SELECT
        class_id
        {% for q in quasi %}
        , {% if q.is_number %}CASE WHEN {{ 'drawn'|of(q) }} IS NOT NULL THEN {{ low_end(q, 'drawn'|of(q)) }} END\
            {% else %}{{ 'drawn'|of(q) }}{% endif %} AS {{ 'published'|of(q) }}
        {% endfor %}
        {% for u in unchanged %}, {{ u.column }}{% if not u.text_is_value %}, {{ 'text'|of(u) }}{% endif %}{% endfor %}
        , count(*) AS size
    FROM noisy_records
    GROUP BY ALL
),
{% include 'release/plan/output_rows.sql' %}
{% include 'gate/noise_gate.sql' %}
