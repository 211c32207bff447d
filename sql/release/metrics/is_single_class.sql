-- description: 1 if all released records are in one class, so that their quasi-identifiers reveal nothing about a \
    record; otherwise 0.
-- better: lower
-- source: -
-- order: 182
-- value: (classes = 1)::INTEGER
