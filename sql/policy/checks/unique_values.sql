{#- How many records no other record (person) shares all unchanged columns with; 0 if they are a small share. -#}
SELECT CASE WHEN n_unique >= {{ share }} * n_records THEN n_unique ELSE 0 END AS repeated
FROM (
    SELECT
        coalesce(sum(records) FILTER (WHERE people <= 1), 0)::BIGINT AS n_unique,
        coalesce(sum(records), 0)::BIGINT AS n_records
    FROM (
        SELECT count(*) AS records, count({% if person %}DISTINCT {{ person }}{% else %}*{% endif %}) AS people
        FROM {{ source }}
        GROUP BY
            {% for v in values %}
            {{ v }}{{ sql(',') if not loop.last }}
            {% endfor %}
    )
)
