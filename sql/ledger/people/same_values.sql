{#- Which values that are in one version only are spelled otherwise in the other one: most people who had the one have the other
    now, and most people who have the other now had the one. -#}
CREATE OR REPLACE TEMP TABLE {{ same }} AS
WITH
mine AS (SELECT DISTINCT person_key, value_hash FROM {{ mine }} WHERE class_id IS NOT NULL),
theirs AS (SELECT DISTINCT person_key, value_hash FROM {{ theirs }} WHERE class_id IS NOT NULL),
pair AS (
    SELECT t.value_hash AS their_value, m.value_hash, count(*) AS people
    FROM (FROM theirs WHERE value_hash NOT IN (SELECT value_hash FROM mine)) AS t
    JOIN (FROM mine WHERE value_hash NOT IN (SELECT value_hash FROM theirs)) AS m USING (person_key)
    GROUP BY ALL
)
SELECT their_value, value_hash
FROM pair
QUALIFY 2 * people > sum(people) OVER (PARTITION BY their_value) AND 2 * people > sum(people) OVER (PARTITION BY value_hash)
