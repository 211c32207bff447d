{#- report(): how many classes have how many records (persons). -#}
SELECT size, count(*) AS classes, sum(records)::BIGINT AS records
FROM (
{% if persons %}
    SELECT {{ size }} AS records, {{ persons }} AS size FROM {{ classes }} WHERE {{ class_id }} IS NOT NULL
{% else %}
    SELECT count(*) AS records, count(*) AS size FROM {{ release }} GROUP BY {{ cells }}
{% endif %}
)
GROUP BY size
ORDER BY size ASC
