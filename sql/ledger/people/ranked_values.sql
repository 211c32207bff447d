{#- Whether a value of a column is in both versions, and, for a column where none is, the ranks of its values by how often they
    occur: where every value was spelled anew, the ranks stay. -#}
SELECT count(*) FROM (SELECT {{ column }} FROM {{ units }} GROUP BY ALL HAVING count(DISTINCT side) = 2);
UPDATE {{ units }} AS u
SET {{ column }} = r.place
FROM (
    SELECT side, {{ column }} AS value, row_number() OVER (PARTITION BY side ORDER BY sum(records) DESC, {{ column }} ASC) AS place
    FROM {{ units }}
    GROUP BY side, {{ column }}
) AS r
WHERE r.side = u.side AND r.value IS NOT DISTINCT FROM u.{{ column }}
