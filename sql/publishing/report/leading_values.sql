{#- report(): what the most frequent sensitive value of a class is, and its share of the class, for all classes. NULL
    discloses nothing and is never the most frequent value. `counted`: only how many classes and records have which
    share. -#}
WITH
-- One row per class and sensitive value: how many records.
class_values AS (
    SELECT row({{ cells }}) AS class, {{ value }} AS value, count(*) AS records
    FROM {{ release }}
    GROUP BY ALL
),
-- One row per class: its size, how many values it has, and how many records have the most frequent one.
class_leads AS (
    SELECT
        class, sum(records)::BIGINT AS size, count(value) AS different,
        coalesce(max(records) FILTER (WHERE value IS NOT NULL), 0) AS leads
    FROM class_values
    GROUP BY class
)
{% if named %}
SELECT
    {% for name in names %}
    quasi_values.{{ name }},
    {% endfor %}
    class_leads.size, class_leads.different, class_values.value, class_leads.leads::DOUBLE / class_leads.size AS share
FROM class_leads
JOIN class_values
    ON class_values.class = class_leads.class AND class_values.records = class_leads.leads
    AND class_values.value IS NOT NULL
JOIN (
    SELECT DISTINCT
        row({{ cells }}) AS class
        {% for name in names %}
        , {{ cast[loop.index0] }} AS {{ name }}
        {% endfor %}
    FROM {{ release }}
) AS quasi_values ON quasi_values.class = class_leads.class
ORDER BY
    share DESC, class_leads.size DESC,
    {% for name in names %}
    quasi_values.{{ name }} ASC NULLS LAST,
    {% endfor %}
    class_values.value ASC
LIMIT {{ most }}
{% elif not counted %}
SELECT size, different, leads::DOUBLE / size AS share
FROM class_leads
ORDER BY share DESC, size DESC, different ASC
LIMIT {{ most }}
{% else %}
SELECT leads::DOUBLE / size AS share, count(*) AS classes, sum(size)::BIGINT AS records
FROM class_leads
GROUP BY share
ORDER BY share DESC
{% endif %}
