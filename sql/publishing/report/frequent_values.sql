{#- report(): the most frequent values of a column; `least`: only those of at least that many records (persons). -#}
SELECT {{ value }} AS value, count(*) AS records
FROM {{ of }}
GROUP BY ALL
{% if least %}
HAVING count({% if person %}DISTINCT {{ person }}{% else %}*{% endif %}) >= {{ least }}
{% endif %}
ORDER BY records DESC, value ASC NULLS LAST
LIMIT {{ most }}
