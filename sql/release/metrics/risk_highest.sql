-- description: Highest re-identification risk: 1 / records (persons) of the smallest class.
-- better: lower
-- source: El Emam and Dankar 2008
-- order: 130
SELECT NULL AS detail, max(1.0 / {% if person %}persons{% else %}size{% endif %}) AS value FROM sized_classes
