-- description: Greatest number of records in a class.
-- better: lower
-- source: -
-- order: 80
-- applies_to: classes, noise
SELECT NULL AS detail, max(size) AS value FROM sized_classes
