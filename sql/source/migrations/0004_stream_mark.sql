-- The greatest order_by that a stream has read, as JSON: with allow_deleted_rows = true, row ids do not identify rows.
ALTER TABLE dbanon.stream ADD COLUMN IF NOT EXISTS mark VARCHAR;
