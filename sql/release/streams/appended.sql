{#- The published rows of a stream that grows, with the pending records: one row per record. The cluster states with
    which class a record was published. -#}
{%- from 'gate/stream_checks.sql' import differs, sealed with context -%}
{%- from 'release/streams/output.sql' import shown with context -%}
{% include 'release/streams/pipeline.sql' %}
SELECT v.*, l.cluster AS {{ continuation.cluster }}, l.rid AS {{ continuation.place }}, \
    s.source_row AS {{ continuation.row }}
FROM departures AS l
JOIN source AS s ON s.rid = l.rid
LEFT JOIN published_rows AS v ON v.{{ stream.arrived_at }} = l.rid
WHERE (SELECT passed FROM gate)
