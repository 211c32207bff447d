{#- NAME('table', ...) of a stream: its records in the order in which they leave. -#}
{%- from 'gate/stream_checks.sql' import differs, sealed with context -%}
{%- from 'release/streams/output.sql' import shown with context -%}
{% include 'release/streams/pipeline.sql' %}
SELECT *
FROM published_rows
WHERE (SELECT passed FROM gate)
ORDER BY {{ stream.published_at }} ASC, {{ class_id }} ASC NULLS LAST, {{ stream.arrived_at }} ASC
