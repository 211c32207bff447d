-- what: Clusters as the algorithm formed them; clusters that publish the same values are one class.
-- better: higher
-- source: -
-- place: 60
-- of: classes, noise
-- custodian: classes
SELECT NULL AS detail, clusters AS value FROM run
