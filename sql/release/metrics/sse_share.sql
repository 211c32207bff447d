-- description: Information loss of microaggregation: 100 * SSE / SST of the numbers' z-scores, within classes and in \
    total; 0 is no loss, 100 is a single class. A NULL is placed at the column's mean and, on an axis of its own, one \
    standard deviation away; columns with one value do not count.
-- better: lower
-- source: Domingo-Ferrer and Mateo-Sanz 2002
-- order: 129
-- requires: number
-- custodian: classes
-- value: 100 * coalesce(sse_share, 0.0)
