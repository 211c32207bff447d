-- what: Records left out because a quasi-identifier is NULL (nulls = 'drop').
-- better: lower
-- source: -
-- place: 20
-- of: classes, noise
SELECT NULL AS detail, records_in - (SELECT sum(size) FROM placed) AS value FROM run
