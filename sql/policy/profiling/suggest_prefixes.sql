{#- Codes of one length: how many there are, how long they are (NULL if the values are no such codes), and how many
    prefixes they have that are one, two and three characters shorter. -#}
SELECT
    count(*),
    CASE
        WHEN bool_and(regexp_full_match(value, '[0-9A-Za-z]*[0-9][0-9A-Za-z]*'))
            AND min(length(value)) = max(length(value)) AND max(length(value)) BETWEEN 3 AND 10
        THEN max(length(value))
    END,
    count(DISTINCT left(value, length(value) - 1)),
    count(DISTINCT left(value, length(value) - 2)),
    count(DISTINCT left(value, length(value) - 3))
FROM (
    SELECT DISTINCT {{ value }} COLLATE POSIX AS value
    FROM {{ source }}
    WHERE {{ value }} IS NOT NULL{% if codes %} AND {{ value }} NOT IN ({{ codes }}){% endif +%}
)
