{#- Pairs of keys of people not recognized yet that differ only by blanks, case and leading zeros: one in
    each version. -#}
CREATE OR REPLACE TEMP TABLE {{ same }} AS
WITH
-- One row per key without these differences, and version: how many spellings it has, and one of them.
plain_keys AS (
    SELECT {{ plain }} AS plain_key, side, count(*) AS n_spellings, any_value(value) AS identity
    FROM (SELECT DISTINCT side, identity AS value FROM {{ units }})
    GROUP BY ALL
)
SELECT other.identity AS their_key, new.identity AS person_key
FROM plain_keys AS new
JOIN plain_keys AS other USING (plain_key)
WHERE new.side = 0 AND other.side = 1 AND new.n_spellings = 1 AND other.n_spellings = 1
