{#- Whether a value of a column is in both versions. For a column without such a value, then replace its values by their
    ranks by frequency: if every value is spelled differently, the ranks are the same. -#}
SELECT count(*) FROM (SELECT {{ column }} FROM {{ units }} GROUP BY ALL HAVING count(DISTINCT side) = 2);
UPDATE {{ units }} AS u
SET {{ column }} = r.place
FROM (
    SELECT
        side, {{ column }} AS value,
        row_number() OVER (PARTITION BY side ORDER BY sum(records) DESC, {{ column }} ASC) AS place
    FROM {{ units }}
    GROUP BY side, {{ column }}
) AS r
WHERE r.side = u.side AND r.value IS NOT DISTINCT FROM u.{{ column }}
