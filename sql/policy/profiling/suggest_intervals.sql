{#- How many numbers there are, and how many intervals of each width. -#}
SELECT
    count(DISTINCT value)
    {% for w in widths %}
    , count(DISTINCT floor(value / {{ w }}))
    {% endfor %}
FROM (
    SELECT {{ value }}::DOUBLE AS value
    FROM {{ source }}
    WHERE isfinite({{ value }}::DOUBLE){% if codes %} AND {{ value }}::DOUBLE NOT IN ({{ codes }}){% endif +%}
)
