-- what: Released records with a pseudonym that other released records have, too: readers see that these are of one person.
-- better: lower
-- source: -
-- place: 176
-- needs: link
SELECT NULL AS detail, coalesce(sum(size) FILTER (WHERE size > 1), 0) AS value
FROM (SELECT sum(size) AS size FROM released WHERE u{{ link.i }} IS NOT NULL GROUP BY u{{ link.i }})
