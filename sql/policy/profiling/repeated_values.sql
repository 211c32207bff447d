{#- How many values of a column occur in several rows. -#}
SELECT count(*) AS repeated
FROM (
    SELECT value
    FROM (SELECT {{ value }} AS value FROM {{ source }})
    WHERE value IS NOT NULL
    GROUP BY value
    HAVING count(*) > 1
)
