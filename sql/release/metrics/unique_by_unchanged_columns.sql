-- description: Number of released records that share all their unchanged values (sensitive and other columns) with \
    no other record (person): a reader who knows these values finds the records, whatever k is.
-- better: lower
-- source: -
-- order: 175
-- requires: unchanged
-- value: n_unique
