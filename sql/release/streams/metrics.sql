{#- NAME_metrics('table', ...) of a stream: one row per metric. -#}
{%- from 'gate/stream_checks.sql' import differs, sealed with context -%}
{%- from 'release/streams/output.sql' import shown with context -%}
{% include 'release/streams/pipeline.sql' %},
-- One row per class, and one for suppressed records.
seen AS MATERIALIZED (
{% include 'release/streams/seen_ranges.sql' %}
),
-- One row per metric: its value, and whether it may be published.
metric_rows AS MATERIALIZED (
    SELECT unnest([
        {% for m in stream.metrics %}
        {'position': {{ loop.index }}, 'metric': {{ m.label }}, 'value': ({{ m.sql }})::DOUBLE, \
            'better': {{ m.better }}, 'description': {{ m.description }}, \
            'is_publishable': {{ m.is_publishable }}}{% if not loop.last %},{% endif +%}
        {% endfor %}
    ], max_depth := 2)
    FROM
        (
            SELECT
                count(*) AS records, count(*) FILTER (WHERE suppressed) AS left_out, count(DISTINCT person) AS persons,
                avg(delay) AS delay, max(delay) AS longest
            FROM replayed_records
        ) AS r,
        (
            SELECT
                count(class_id) AS classes, sum(records * loss) / sum(records) AS loss,
                sum(records) FILTER (WHERE class_id IS NOT NULL) AS published, sum(records - first_records) AS reused
            FROM seen
        ) AS c,
        (SELECT min(persons) AS persons{% for s in model_columns %}, \
            min({{ 'values'|of(s) }}) AS {{ 'values'|of(s) }}{% endfor %} FROM first_seen) AS f
        {% if stream.drops_suppressed %}
        , (SELECT count(*) AS records FROM record_classes WHERE class_id = -1) AS dropped
        {% endif %}
),
{% include 'gate/stream_metrics.sql' %}
SELECT metric, value, better, description, is_publishable
FROM metric_rows
WHERE (SELECT passed FROM gate) AND (SELECT passed FROM stated_check) AND value IS NOT NULL
ORDER BY position ASC
