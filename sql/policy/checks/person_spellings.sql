{#- How many values of a column that distinguishes persons equal another of its values except for blanks, case and
    leading zeros. -#}
SELECT coalesce(sum(n_values), 0)::BIGINT AS repeated
FROM (
    SELECT count(*) AS n_values
    FROM (SELECT DISTINCT {{ value }} COLLATE POSIX AS value FROM {{ source }} WHERE {{ value }} IS NOT NULL)
    GROUP BY {{ plain }}
    HAVING count(*) > 1
)
