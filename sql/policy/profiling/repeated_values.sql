{#- How many values of a column occur in several rows; 0 where so many values are distinct that a few repeat by chance.
    -#}
SELECT
    CASE WHEN count(*) < {{ by_chance }} * sum(records) THEN count(*) FILTER (WHERE records > 1) ELSE 0 END AS repeated
FROM (
    SELECT count(*) AS records
    FROM (SELECT {{ value }} AS value FROM {{ source }})
    WHERE value IS NOT NULL
    GROUP BY value
)
