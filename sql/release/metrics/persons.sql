-- description: Number of distinct persons in the release; only if a person column is declared. Without one, k counts \
    records.
-- better: higher
-- source: -
-- order: 30
-- requires: person
-- applies_to: classes, noise
-- value: n_persons
