{#- NAME_classes('table', ...) of a stream: one row per equivalence class, and one for suppressed records. -#}
{%- from 'gate/stream_checks.sql' import differs, sealed with context -%}
{%- from 'release/streams/output.sql' import shown with context -%}
{% include 'release/streams/pipeline.sql' %}
SELECT
    c.class_id AS {{ class_id }},
    c.records AS {{ names.size }},
    {% if person %}c.persons AS {{ names.persons }},{% endif %}
    c.records - c.first_records AS {{ stream.reused }},
    c.published_at AS {{ stream.published_at }},
    {% for o in quasi_output %}{{ o.expression }} AS {{ o.name }}, {% endfor %}
    c.loss AS {{ names.loss }},
    c.class_id IS NULL AS {{ names.suppressed }}
    {% for u in unchanged if u.is_sensitive %}
    , (SELECT list(struct_pack(value := v.value, size := v.size) ORDER BY v.size DESC, v.value ASC NULLS LAST, \
        v.value::VARCHAR ASC NULLS LAST)
        FROM (
            SELECT {{ class_id }} AS class_id, {{ u.name }} AS value, count(*) AS size
            FROM published_rows
            WHERE NOT {{ stream.suppressed }}
            GROUP BY ALL
        ) AS v WHERE v.class_id = c.class_id) AS {{ u.name }}
    {% endfor %}
FROM ({% include 'release/streams/seen_ranges.sql' %}) AS c
WHERE (SELECT passed FROM gate)
ORDER BY {{ class_id }} ASC NULLS LAST
