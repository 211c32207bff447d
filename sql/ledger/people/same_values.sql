{#- Pairs of values that are in one version only, of which one is the spelling of the other: most people who had the one
    have the other now, and most people who have the other now had the one. -#}
CREATE OR REPLACE TEMP TABLE {{ same }} AS
WITH
-- One row per person and value of the new version.
new_values AS (SELECT DISTINCT person_key, value_hash FROM {{ mine }} WHERE class_id IS NOT NULL),
-- One row per person and value of the other version.
other_values AS (SELECT DISTINCT person_key, value_hash FROM {{ theirs }} WHERE class_id IS NOT NULL),
-- One row per pair of values that are in one version only: how many people have both.
value_pairs AS (
    SELECT o.value_hash AS their_value, n.value_hash, count(*) AS people
    FROM (FROM other_values WHERE value_hash NOT IN (SELECT value_hash FROM new_values)) AS o
    JOIN (FROM new_values WHERE value_hash NOT IN (SELECT value_hash FROM other_values)) AS n USING (person_key)
    GROUP BY ALL
)
SELECT their_value, value_hash
FROM value_pairs
QUALIFY 2 * people > sum(people) OVER (PARTITION BY their_value)
    AND 2 * people > sum(people) OVER (PARTITION BY value_hash)
