-- description: Global certainty penalty: normalized certainty penalty / (records * attributes).
-- better: lower
-- source: review of clustering methods; Ghinita et al. 2007
-- order: 116
SELECT NULL AS detail, lost.leaves / (run.records * run.attributes) AS value FROM lost, run
