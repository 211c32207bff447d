{#- How many records nobody else shares the columns with that would be published as they are; 0 while they are few. -#}
SELECT CASE WHEN alone >= {{ share }} * records THEN alone ELSE 0 END AS repeated
FROM (
    SELECT coalesce(sum(records) FILTER (WHERE people <= 1), 0)::BIGINT AS alone, coalesce(sum(records), 0)::BIGINT AS records
    FROM (
        SELECT count(*) AS records, count({% if person %}DISTINCT {{ person }}{% else %}*{% endif %}) AS people
        FROM {{ source }}
        GROUP BY {% for v in values %}{% if not loop.first %}, {% endif %}{{ v }}{% endfor %}
    )
)
