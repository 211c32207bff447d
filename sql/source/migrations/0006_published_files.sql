-- Recipients of releases: one row per file that publish wrote, per copy in PostgreSQL, and per reader of a server.
CREATE TABLE IF NOT EXISTS dbanon.published_file (
    schema_name   VARCHAR NOT NULL,
    name          VARCHAR NOT NULL,    -- of the release
    version       INTEGER NOT NULL,
    channel       VARCHAR NOT NULL,    -- file, postgres or server
    content       VARCHAR NOT NULL,    -- release, classes, metrics or certificate; a .duckdb file of a release has all
    file          VARCHAR NOT NULL,    -- path of the file, table in PostgreSQL, or server
    sha256        VARCHAR,             -- of the file; of a copy or a served release, of its rows as in release.hashes
    published_at  TIMESTAMP NOT NULL,  -- UTC
    recipient     VARCHAR,             -- NULL: not stated
    purpose       VARCHAR,
    legal_basis   VARCHAR
);
