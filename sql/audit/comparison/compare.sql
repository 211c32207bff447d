{#- compare('table', ...): one row per algorithm, k, number of quasi-identifiers, size and metric. Each part is one
    encoding of the source, on which all algorithms run. -#}
SELECT algorithm, k, n_quasi_identifiers, sample_size, n, metric, mean, stddev, seconds, runs, problem
FROM (
    {% for part, rows in parts %}
    SELECT {{ loop.index }} AS part, {{ rows }}::BIGINT AS sample_size, * FROM {{ part }}
    {% if not loop.last %}UNION ALL{% endif +%}
    {% endfor %}
)
ORDER BY part ASC, place ASC
