-- Columns for the comparison of people and values of versions.
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS hash_format INTEGER;               -- of the hashes in membership; \
    NULL: 1, which depends on the version of DuckDB
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS disjoint_from VARCHAR[];           -- releases and sources that \
    are declared to be about other people
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS recognized MAP(VARCHAR, BIGINT);   -- by other version: people of \
    it who were recognised
ALTER TABLE dbanon.membership ADD COLUMN IF NOT EXISTS quasi_cells UBIGINT[];          -- of the quasi-identifiers in \
    the source, by column
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS composition_rule VARCHAR;          -- warn or refuse, \
as it was asked; NULL: an earlier version made it
