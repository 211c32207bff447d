{#- Pairs of people not recognized yet who have the same records in some columns. Of people whose records are equal, any
    two are paired. -#}
INSERT INTO {{ same }}
WITH
-- One row per person: a hash of all of the person's records.
record_signatures AS (
    SELECT
        side, identity,
        hash(list_sort(
            list(hash({% for c in columns %}{{ c }}, {% endfor %}records)),
            'ASC', 'NULLS LAST')) AS signature
    FROM {{ units }}
    WHERE CASE
        WHEN side = 0 THEN identity NOT IN (SELECT person_key FROM {{ same }})
        ELSE identity NOT IN (SELECT their_key FROM {{ same }})
    END
    GROUP BY ALL
),
-- One row per person, with a number among the people whose records are equal.
numbered_people AS (
    SELECT *, row_number() OVER (PARTITION BY side, signature ORDER BY identity ASC) AS place FROM record_signatures
)
SELECT other.identity, new.identity
FROM numbered_people AS new
JOIN numbered_people AS other USING (signature, place)
WHERE new.side = 0 AND other.side = 1
