{#- Who of those left has the same records in some columns: of people whose records are alike it does not matter which is
    which. -#}
INSERT INTO {{ same }}
WITH
person AS (
    SELECT side, who, hash(list_sort(list(hash({% for n in places %}v{{ n }}, {% endfor %}records)), 'ASC', 'NULLS LAST')) AS signature
    FROM {{ units }}
    WHERE CASE WHEN side = 0 THEN who NOT IN (SELECT person_key FROM {{ same }}) ELSE who NOT IN (SELECT their_key FROM {{ same }}) END
    GROUP BY ALL
),
record_classes AS (SELECT *, row_number() OVER (PARTITION BY side, signature ORDER BY who ASC) AS place FROM person)
SELECT t.who, m.who
FROM record_classes AS m
JOIN record_classes AS t USING (signature, place)
WHERE m.side = 0 AND t.side = 1
