{#- report(): what the most frequent sensitive value of a class is, and its share of the class, for all classes; NULL
    discloses nothing and leads nowhere. `counted`: only how many classes and records have which share. -#}
WITH held AS (
    SELECT row({{ cells }}) AS class, {{ value }} AS value, count(*) AS records
    FROM {{ release }}
    GROUP BY ALL
),
led AS (
    SELECT
        class, sum(records)::BIGINT AS size, count(value) AS different,
        coalesce(max(records) FILTER (WHERE value IS NOT NULL), 0) AS leads
    FROM held
    GROUP BY class
)
{% if named %}
SELECT
    {% for name in names %}shown.{{ name }}, {% endfor %}led.size, led.different, held.value, led.leads / led.size AS share
FROM led
JOIN held ON held.class = led.class AND held.records = led.leads AND held.value IS NOT NULL
JOIN (
    SELECT DISTINCT row({{ cells }}) AS class, {% for name in names %}{{ cast[loop.index0] }} AS {{ name }}{% if not loop.last %}, {% endif %}{% endfor %} FROM {{ release }}
) AS shown ON shown.class = led.class
ORDER BY share DESC, led.size DESC, {% for name in names %}shown.{{ name }} ASC NULLS LAST, {% endfor %}held.value ASC
LIMIT {{ most }}
{% elif not counted %}
SELECT size, different, leads / size AS share
FROM led
ORDER BY share DESC, size DESC, different ASC
LIMIT {{ most }}
{% else %}
SELECT leads / size AS share, count(*) AS classes, sum(size)::BIGINT AS records
FROM led
GROUP BY share
ORDER BY share DESC
{% endif %}
