{#- Which keys of people who are left differ only by blanks, case and leading zeros: one in each version. -#}
CREATE OR REPLACE TEMP TABLE {{ same }} AS
WITH
spelled AS (
    SELECT {{ plain }} AS plain, side, count(*) AS spellings, any_value(value) AS who
    FROM (SELECT DISTINCT side, who AS value FROM {{ units }})
    GROUP BY ALL
)
SELECT t.who AS their_key, m.who AS person_key
FROM spelled AS m
JOIN spelled AS t USING (plain)
WHERE m.side = 0 AND t.side = 1 AND m.spellings = 1 AND t.spellings = 1
