-- description: Achieved k: least number of {unit} in a class.
-- better: higher
-- source: Samarati and Sweeney 1998
-- order: 40
SELECT NULL AS detail, min({% if person %}persons{% else %}size{% endif %}) AS value FROM sized_classes
