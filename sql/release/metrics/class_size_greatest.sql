-- what: Greatest number of records in a class.
-- better: lower
-- source: -
-- place: 80
-- of: classes, noise
SELECT NULL AS detail, max(size) AS value FROM class_of
