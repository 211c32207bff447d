{#- NAME_metrics('table', ...): one row a measure; each measure is a file in metric/. -#}
{% include 'part/path.sql' %},
{% include 'part/measured.sql' %},
{# One row of totals that every measure may read. #}
run AS MATERIALIZED (
    SELECT
        (SELECT count(*) FROM source) AS records_in,
        (SELECT sum(size) FROM class_of) AS records,
        (SELECT count(*) FROM class_of) AS classes,
        (SELECT count(*) FROM generalized) AS clusters,
        {{ quasi|length }} AS attributes,
        {{ k }} AS k
)
SELECT metric, value, better, description
FROM (
    {% for m in metrics %}
    SELECT {{ m.position }} AS place, {{ m.name }} || coalesce(':' || detail, '') AS metric, round(value::DOUBLE, 12) AS value, {{ m.better }} AS better, {{ m.what }} AS description
    FROM ({{ m.sql }})
    {% if not loop.last %}UNION ALL{% endif %}
    {% endfor %}
)
WHERE (SELECT passed FROM gate)
ORDER BY place ASC, metric ASC
