-- description: Share of the information in the quasi-identifiers that is kept: 1 - loss / (records * attributes).
-- better: higher
-- source: Wang et al. 2022, Equations 1-2
-- order: 100
SELECT NULL AS detail, 1 - sum((c.size * c.loss)::DECIMAL(38, 12))::DOUBLE \
    / (any_value(run.records) * any_value(run.attributes)) AS value
FROM sized_classes AS c, run
