{#- The values that each cluster publishes in columns that are published as ranges: cluster_spans -> span_ranges ->
    "age: intervals" and range_nodes. -#}
{%- from 'release/plan/number_column.sql' import published_intervals with context -%}
{%- from 'release/plan/hierarchy_columns.sql' import published_nodes with context -%}
{%- from 'release/plan/column_rows.sql' import column_numbers, derived_list -%}
{% if not noise %}
-- Chapter 3, generalize: each cluster gets values that cover its records; equal ones become one class.
{% endif %}
{% if widens %}
-- One row per cluster that is published with more than its records span: its least and greatest codes, and what each
-- column is raised to: a node, `*` (-2), or what covers the codes (-1).
wide AS MATERIALIZED (SELECT unnest((answer).wide, max_depth := 2) FROM clustering),
{% endif %}
-- One row per cluster: its size and its span. If all records of a cluster are of one group, its span is that of the
-- group, so that such clusters publish the same values; otherwise it is a span of its own.
cluster_spans AS MATERIALIZED (
    SELECT
        cluster, {% if widens %}cluster::BIGINT{% else %}CASE WHEN min(gid) = max(gid) THEN -1 - min(gid) \
            ELSE cluster END{% endif %} AS span,
        sum(last - first + 1)::BIGINT AS size
    FROM cluster_parts
    {% if suppress %}WHERE cluster <> -1{% endif +%}
    GROUP BY cluster
),
-- One row per span: its number of records, for each column the least and greatest code and the number of records with
-- a value.
span_ranges AS MATERIALIZED (
    SELECT
        c.span, sum(p.records)::BIGINT AS size
        {% for q in generalized %}
        {% if widens %}
        , least(min(e.{{ 'code'|of(q) }}), min(w.low[{{ q.i + 1 }}])) AS {{ 'low'|of(q) }}, \
            greatest(max(e.{{ 'code'|of(q) }}), max(w.high[{{ q.i + 1 }}])) AS {{ 'high'|of(q) }}
        , coalesce(max(w.raised[{{ q.i + 1 }}]), -1) AS {{ 'raised'|of(q) }}
        {% else %}
        , min(e.{{ 'code'|of(q) }}) AS {{ 'low'|of(q) }}, max(e.{{ 'code'|of(q) }}) AS {{ 'high'|of(q) }}
        {% endif %}
        , (sum(p.records) FILTER (WHERE e.{{ 'code'|of(q) }} IS NOT NULL))::BIGINT AS {{ 'filled'|of(q) }}
        {% endfor %}
    FROM (SELECT gid, cluster, last - first + 1 AS records FROM cluster_parts) AS p
    JOIN cluster_spans AS c USING (cluster)
    JOIN code_groups AS e USING (gid)
    {% if widens %}LEFT JOIN wide AS w ON w.cluster = p.cluster{% endif +%}
    GROUP BY c.span
),
{% if is_wide %}
-- One row per span and quasi-identifier (attribute, its number): the least and greatest code, the number of values.
span_columns AS MATERIALIZED (
    SELECT
        span, size, {{ column_numbers(generalized) }} AS attribute,
        unnest({{ derived_list(generalized, sql(''), 'low') }}) AS low,
        unnest({{ derived_list(generalized, sql(''), 'high') }}) AS high,
        {% if widens %}
        unnest({{ derived_list(generalized, sql(''), 'raised') }}) AS raised,
        {% endif %}
        unnest({{ derived_list(generalized, sql(''), 'filled') }}) AS filled
    FROM span_ranges
),
{% for block in number_blocks %}
{{ published_intervals(block[0]) }}
{% endfor %}
{% else %}
{% for q in generalized if q.is_number %}
{{ published_intervals(q) }}
{% endfor %}
{% endif %}
{% set ranged_trees = generalized|rejectattr('is_number')|list %}
{% if ranged_trees %}
{% set pairs %}
{% if is_wide %}
SELECT DISTINCT attribute AS tree, low, high{% if widens %}, raised{% endif %} FROM span_columns
            WHERE low IS NOT NULL AND attribute IN (SELECT {{ column_numbers(ranged_trees) }})
{% else %}
SELECT DISTINCT tree, low, high{% if widens %}, raised{% endif +%}
            FROM (
                SELECT {{ column_numbers(ranged_trees) }} AS tree, \
                    unnest({{ derived_list(ranged_trees, sql(''), 'low') }}) AS low, \
                    unnest({{ derived_list(ranged_trees, sql(''), 'high') }}) AS high\
                    {% if widens %}, unnest({{ derived_list(ranged_trees, sql(''), 'raised') }}) AS raised{% endif +%}
                FROM span_ranges
            )
            WHERE low IS NOT NULL
{% endif %}
        {% endset %}
{{ published_nodes(ranged_trees, pairs, widens) }}
{% endif %}
