{#- How many pseudonyms are not those of exactly one person, plus how many persons have several pseudonyms. -#}
WITH
-- One row per person and pseudonym.
person_links AS (
    SELECT DISTINCT {{ person }} COLLATE POSIX AS person, {{ link }} COLLATE POSIX AS link FROM {{ source }}
)
SELECT
    (
        SELECT count(*)
        FROM (
            SELECT link
            FROM person_links
            WHERE link IS NOT NULL
            GROUP BY link
            HAVING count(*) > 1 OR count(person) = 0
        )
    ) + (
        SELECT count(*)
        FROM (SELECT person FROM person_links WHERE person IS NOT NULL GROUP BY person HAVING count(link) > 1)
    )
