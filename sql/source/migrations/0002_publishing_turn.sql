-- One row. A transaction that writes the ledger updates it first, so that of two at the same time one has to wait.
CREATE TABLE IF NOT EXISTS dbanon.publishing_turn (
    id     INTEGER PRIMARY KEY CHECK (id = 1),
    turns  BIGINT NOT NULL  -- how often the ledger was written
);
INSERT INTO dbanon.publishing_turn VALUES (1, 0) ON CONFLICT DO NOTHING;
