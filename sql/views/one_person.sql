{#- Pseudonyms that are not those of one person alone, and persons who have several: how many there are. -#}
WITH held AS (SELECT DISTINCT {{ person }} COLLATE POSIX AS person, {{ link }} COLLATE POSIX AS link FROM {{ source }})
SELECT
    (SELECT count(*) FROM (SELECT link FROM held WHERE link IS NOT NULL GROUP BY link HAVING count(*) > 1 OR count(person) = 0))
    + (SELECT count(*) FROM (SELECT person FROM held WHERE person IS NOT NULL GROUP BY person HAVING count(link) > 1))
