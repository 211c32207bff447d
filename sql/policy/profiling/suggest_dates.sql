{#- Years between the first and the last date, how many dates there are, months, quarters, years and decades. -#}
SELECT
    coalesce(max(year(day)) - min(year(day)), 0),
    count(DISTINCT value), count(DISTINCT date_trunc('month', day)), count(DISTINCT date_trunc('quarter', day)),
    count(DISTINCT year(day)), count(DISTINCT floor(year(day) / 10))
FROM (
    SELECT value, value::DATE AS day
    {% if zoned %}
    FROM (SELECT {{ value }} AT TIME ZONE 'UTC' AS value FROM {{ source }})
    {% else %}
    FROM (SELECT {{ value }} AS value FROM {{ source }})
    {% endif %}
    WHERE isfinite(value::TIMESTAMP)
        {% if codes %}
        AND CAST(CAST(value AS DATE) AS VARCHAR) NOT IN ({{ codes }})
        {% endif %}
)
