-- description: Average re-identification risk over the records.
-- better: lower
-- source: El Emam and Dankar 2008
-- order: 140
SELECT NULL AS detail, sum((size::DOUBLE / {% if person %}persons{% else %}size{% endif %})::DECIMAL(38, 12))::DOUBLE \
    / sum(size) AS value FROM sized_classes
