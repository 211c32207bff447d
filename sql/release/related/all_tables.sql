{#- All of a release of related tables, read and judged once: one row with a list for each table (t), for the classes
    and for the measures. A row of a table keeps its number and its place, which do not leave. -#}
{% include 'release/related/pipeline.sql' %},
{% include 'release/related/metric_inputs.sql' %}
SELECT
    {% for t in tables %}
    (SELECT list(l) FROM {{ 'published rows'|of(t) }} AS l) AS t{{ t.i }},
    {% endfor %}
    (SELECT list(c) FROM (
{% include 'release/related/classes_of_table.sql' %}
    ) AS c) AS classes,
    (SELECT list(m) FROM (
{% include 'release/related/metrics_of_table.sql' %}
    ) AS m) AS metrics
WHERE (SELECT passed FROM gate)
