-- description: Number of clusters that the algorithm formed; clusters that publish the same values are one class.
-- better: higher
-- source: -
-- order: 60
-- applies_to: classes, noise
-- custodian: classes
SELECT NULL AS detail, clusters AS value FROM run
