-- The dbanon schema of a database: policy and hierarchies are tables, what follows from them are views.
CREATE SCHEMA IF NOT EXISTS dbanon;

-- The role of each column of a table. table_name may be 'patients' (with schema_name) or 'schema.patients'.
CREATE TABLE IF NOT EXISTS dbanon.policy (
    table_name   VARCHAR NOT NULL,
    column_name  VARCHAR NOT NULL,
    -- identifier, person, quasi, sensitive, insensitive, pseudonym, mask or shift
    role         VARCHAR NOT NULL,
    hierarchy    VARCHAR,                         -- of a quasi-identifier: a stored or shipped hierarchy
    weight       DOUBLE NOT NULL DEFAULT 1 CHECK (weight BETWEEN 0.000001 AND 1000000),
    min_level    INTEGER CHECK (min_level >= 0),  -- steps up the hierarchy: at least, at most
    max_level    INTEGER CHECK (max_level >= 0),
    top          VARCHAR,                         -- values above / below are published as >= top / <= bottom
    bottom       VARCHAR,
    rounding         VARCHAR,                         -- interval ends snap outward: a number, or month, year, ...
    schema_name  VARCHAR NOT NULL DEFAULT 'main',
    PRIMARY KEY (schema_name, table_name, column_name)
);

-- Which database of another system the policy means by a name: any can be attached by it (see attached_databases()).
CREATE TABLE IF NOT EXISTS dbanon.foreign_database (
    name      VARCHAR NOT NULL PRIMARY KEY,  -- as it is attached, in lower case
    type      VARCHAR NOT NULL,              -- postgres, mysql or sqlite
    identity  VARCHAR NOT NULL               -- what the database says of itself
);

-- Tables that are released together with the table of people (entity, children) that their rows are about. Names of
-- tables are spelled as in the policy.
CREATE TABLE IF NOT EXISTS dbanon.relation (
    table_name     VARCHAR NOT NULL,                 -- the table with rows about people
    entity_name    VARCHAR NOT NULL,                 -- the table with one row per person
    key            VARCHAR[] NOT NULL,               -- columns of the first that identify the person of a row
    entity_key     VARCHAR[],                        -- what they are called in the second; NULL: the same
    schema_name    VARCHAR NOT NULL DEFAULT 'main',
    entity_schema  VARCHAR NOT NULL DEFAULT 'main',
    PRIMARY KEY (schema_name, table_name, entity_schema, entity_name),
    CHECK (key[1] IS NOT NULL AND (entity_key IS NULL OR system.main.len(entity_key) = system.main.len(key)))
);

-- One row per node. parent is NULL for the root; position is the order among siblings (and so of the leaves).
CREATE TABLE IF NOT EXISTS dbanon.hierarchy (
    name    VARCHAR NOT NULL,
    node    VARCHAR NOT NULL,
    parent  VARCHAR CHECK (parent <> node),
    label   VARCHAR NOT NULL CHECK (label <> ''),
    position  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (name, node)
);

-- Every node reachable from the root, with its path and its heights.
-- level: steps from the root's end; height_top: H_levels - depth (KACPC distance); height_loss: 1 for leaves, else
-- height_top (KACPC loss); height_sub: edges down to the deepest leaf below (k-member distance and loss).
CREATE OR REPLACE VIEW dbanon.hierarchy_node AS
WITH RECURSIVE walk AS (
    SELECT name, node, parent, label, 0 AS depth, [node] AS line, [label] AS labels, [row(position, node)] AS place
    FROM dbanon.hierarchy
    WHERE parent IS NULL
    UNION ALL
    SELECT
        h.name, h.node, h.parent, h.label, w.depth + 1,
        list_append(w.line, h.node), list_append(w.labels, h.label), list_append(w.place, row(h.position, h.node))
    FROM walk AS w
    JOIN dbanon.hierarchy AS h ON h.name = w.name AND h.parent = w.node
),
below AS (
    SELECT
        w.name,
        w.ancestor,
        max(w.depth) AS deepest,
        count(*) FILTER (WHERE NOT EXISTS (
            FROM dbanon.hierarchy AS h WHERE h.name = w.name AND h.parent = w.node
        )) AS leaves
    FROM (SELECT name, node, depth, unnest(line) AS ancestor FROM walk) AS w
    GROUP BY ALL
),
tall AS (SELECT name, max(depth) + 1 AS levels FROM walk GROUP BY name)
SELECT
    w.name,
    w.node,
    w.parent,
    w.label,
    w.depth,
    list_reverse(w.labels) AS path,
    t.levels - w.depth AS height_top,
    CASE WHEN b.deepest = w.depth THEN 1 ELSE t.levels - w.depth END AS height_loss,
    b.deepest - w.depth AS height_sub,
    b.leaves,
    b.deepest = w.depth AS is_leaf,
    (row_number() OVER (PARTITION BY w.name ORDER BY w.place ASC) - 1) AS preorder
FROM walk AS w
JOIN below AS b ON b.name = w.name AND b.ancestor = w.node
JOIN tall AS t ON t.name = w.name;

-- One row per leaf: the path from the leaf to the root, as in an ARX file.
CREATE OR REPLACE VIEW dbanon.hierarchy_path AS
SELECT name, label AS leaf, path
FROM dbanon.hierarchy_node
WHERE is_leaf
ORDER BY name ASC, preorder ASC;
-- Releases, version by version (dbanon.create_release); `call` releases a version again.
CREATE TABLE IF NOT EXISTS dbanon.release (
    schema_name            VARCHAR NOT NULL,
    name                   VARCHAR NOT NULL,
    version                INTEGER NOT NULL,
    status                 VARCHAR NOT NULL,       -- published, replaced by a later version, or dropped
    source                 VARCHAR NOT NULL,
    algorithm              VARCHAR NOT NULL,
    statement              VARCHAR NOT NULL,       -- the query that gives the rows
    call                   VARCHAR NOT NULL,       -- the same as JSON
    parameters             VARCHAR NOT NULL,       -- every parameter, defaults too, as JSON
    roles                  VARCHAR NOT NULL,       -- of every column of the source, as JSON
    withheld               VARCHAR[] NOT NULL,     -- columns that are not published
    policy_fingerprint     VARCHAR NOT NULL,
    hierarchy_fingerprint  VARCHAR NOT NULL,
    library_versions       MAP(VARCHAR, VARCHAR) NOT NULL,
    source_fingerprint     VARCHAR NOT NULL,
    source_records         BIGINT NOT NULL,
    records                BIGINT NOT NULL,
    suppressed             BIGINT NOT NULL,
    dropped                BIGINT NOT NULL,
    released_at            TIMESTAMP NOT NULL,     -- UTC
    achieved               MAP(VARCHAR, DOUBLE) NOT NULL,
    metrics                MAP(VARCHAR, DOUBLE) NOT NULL,
    person_key             VARCHAR[],              -- columns that identify persons; NULL: composition is not checkable
    refresh_mode                VARCHAR NOT NULL,       -- first, keep, hold or recluster
    small_differences          BIGINT NOT NULL,        -- classes whose difference to the version before is too small
    allow_small_differences            BOOLEAN NOT NULL,
    composition            MAP(VARCHAR, BIGINT),   -- people with too small a candidate set, by other release
    PRIMARY KEY (schema_name, name, version)
);

-- The class of each record of each version (NULL: suppressed or dropped). Never published.
CREATE TABLE IF NOT EXISTS dbanon.membership (
    schema_name  VARCHAR NOT NULL,
    release      VARCHAR NOT NULL,
    version      INTEGER NOT NULL,
    person_key   VARCHAR,
    class_id     BIGINT,
    cluster_id   BIGINT,            -- clusters that publish the same values are one class
    row_hash     UBIGINT NOT NULL,  -- of all that counts of a record
    value_hash   UBIGINT NOT NULL,  -- of what is published as it is
    records      BIGINT NOT NULL
);

-- Of which releases a database of PostgreSQL has a copy, or shall have one: the published version.
CREATE TABLE IF NOT EXISTS dbanon.delivery (
    schema_name    VARCHAR NOT NULL,  -- and name: of the release here
    name           VARCHAR NOT NULL,
    identity       VARCHAR NOT NULL,  -- which database of PostgreSQL, as in foreign_database
    target_schema  VARCHAR NOT NULL,  -- and target_name: the table there
    target_name    VARCHAR NOT NULL,
    ownership_tag           VARCHAR NOT NULL,  -- in the comments of the tables there; one without it is never replaced
    version        INTEGER,           -- was copied last and compared; NULL: none, or it was about to be dropped
    delivered_at   TIMESTAMP,         -- UTC
    PRIMARY KEY (schema_name, name)
);

-- The state of each streaming anonymized view: what it has published, and how it continues. Pending records are in a
-- separate table.
CREATE TABLE IF NOT EXISTS dbanon.stream (
    schema_name            VARCHAR NOT NULL,
    name                   VARCHAR NOT NULL,
    status                 VARCHAR NOT NULL,       -- active, or dropped
    source                 VARCHAR NOT NULL,
    system                 VARCHAR NOT NULL,
    statement              VARCHAR NOT NULL,       -- the query that replays it
    call                   VARCHAR NOT NULL,       -- the same as JSON
    roles                  VARCHAR NOT NULL,       -- of every column of the source, as JSON
    policy_fingerprint     VARCHAR NOT NULL,
    hierarchy_fingerprint  VARCHAR NOT NULL,
    source_tables                  VARCHAR[] NOT NULL,     -- tables behind the source
    began_at               TIMESTAMP NOT NULL,     -- UTC, as the next
    refreshed_at           TIMESTAMP NOT NULL,
    refreshes              BIGINT NOT NULL,
    last_row               BIGINT NOT NULL,        -- the row of the source that was read last, and a hash of it
    last_hash              VARCHAR,
    source_rows            BIGINT NOT NULL,        -- how many rows the source had up to that one
    arrived                BIGINT NOT NULL,        -- records that were read
    waiting                BIGINT NOT NULL,
    published              BIGINT NOT NULL,
    suppressed             BIGINT NOT NULL,
    classes                BIGINT NOT NULL,
    total_delay            BIGINT NOT NULL,        -- of the published records together, and of one at most
    longest_delay          BIGINT NOT NULL,
    state                  BLOB                    -- arrays as numpy writes them, compressed
);

-- Releases of people together with the rows about them, all tables at once (dbanon.create_release with entity or
-- children). A release has one version, and no other release of the same people exists.
CREATE TABLE IF NOT EXISTS dbanon.related_release (
    schema_name        VARCHAR NOT NULL,
    name               VARCHAR NOT NULL,
    status             VARCHAR NOT NULL,               -- published, or dropped
    source             VARCHAR NOT NULL,               -- the table of the call
    tables             MAP(VARCHAR, VARCHAR) NOT NULL, -- tables of the release, and what they were made from
    algorithm          VARCHAR NOT NULL,
    statement          VARCHAR NOT NULL,
    call               VARCHAR NOT NULL,               -- the same as JSON
    parameters         VARCHAR NOT NULL,               -- every parameter, defaults too, as JSON
    roles              VARCHAR NOT NULL,               -- of every column of each source, as JSON
    policy_fingerprints     MAP(VARCHAR, VARCHAR) NOT NULL,  -- by source
    hierarchy_fingerprints  MAP(VARCHAR, VARCHAR) NOT NULL,
    library_versions   MAP(VARCHAR, VARCHAR) NOT NULL,
    persons            BIGINT NOT NULL,
    released_at        TIMESTAMP NOT NULL,             -- UTC
    metrics            MAP(VARCHAR, DOUBLE) NOT NULL,
    source_tables              VARCHAR[] NOT NULL,             -- tables and files behind the sources
    person_tables             VARCHAR[] NOT NULL,             -- those behind the table of people
    hashes             MAP(VARCHAR, VARCHAR) NOT NULL, -- of its tables by their endings
    PRIMARY KEY (schema_name, name)
);

-- Releases that readers of `dbanon serve` may request.
CREATE TABLE IF NOT EXISTS dbanon.permission (
    source      VARCHAR NOT NULL,               -- as a call names it
    algorithms  VARCHAR[] NOT NULL,
    k           INTEGER NOT NULL CHECK (k >= 2),  -- the least that may be asked for
    parameters  VARCHAR NOT NULL DEFAULT '{}',  -- of the calls, as JSON; readers may ask for stricter models
    reader      VARCHAR NOT NULL DEFAULT '*',   -- the name of a token; *: every reader
    -- how many calls of the source are tried; each refusal reveals something
    max_requests        INTEGER NOT NULL DEFAULT 10
);

-- Requests of readers and their results: a release, or the reason why there is none. A stored request is not repeated.
CREATE TABLE IF NOT EXISTS dbanon.release_request (
    algorithm    VARCHAR NOT NULL,
    source       VARCHAR NOT NULL,
    parameters   VARCHAR NOT NULL,   -- as JSON
    reader       VARCHAR NOT NULL,
    requested_at     TIMESTAMP NOT NULL, -- UTC
    schema_name  VARCHAR,
    name         VARCHAR,
    refusal      VARCHAR,
    PRIMARY KEY (algorithm, source, parameters)
);

-- Columns of later versions. Earlier rows have NULL there.
ALTER TABLE dbanon.policy ADD COLUMN IF NOT EXISTS missing_codes VARCHAR[];       -- codes that are read as NULL
-- settings of a pseudonym, mask or shift
ALTER TABLE dbanon.policy ADD COLUMN IF NOT EXISTS settings MAP(VARCHAR, VARCHAR);
-- hashes of its tables by their endings, and of this row
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS hashes MAP(VARCHAR, VARCHAR);
-- tables and files behind the source
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS source_tables VARCHAR[];
-- versions compared by published counts only
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS unchecked_against VARCHAR[];
-- records withheld since an erasure
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS withheld_after_erasure BIGINT;
-- pending records (mode = 'hold')
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS waiting BIGINT;
-- the persons of these records, if a column identifies them
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS waiting_persons BIGINT;
-- of transformed columns: the source of their values, and the id of the key
ALTER TABLE dbanon.release ADD COLUMN IF NOT EXISTS keys MAP(VARCHAR, VARCHAR);
ALTER TABLE dbanon.membership ADD COLUMN IF NOT EXISTS label_hash UBIGINT;  -- of the published quasi-identifiers
ALTER TABLE dbanon.membership ADD COLUMN IF NOT EXISTS cells UBIGINT[];     -- of what is published as it is, by column
ALTER TABLE dbanon.membership ADD COLUMN IF NOT EXISTS held BOOLEAN;        -- withheld since an erasure
ALTER TABLE dbanon.membership ADD COLUMN IF NOT EXISTS waiting BOOLEAN;     -- not published before enough are added

-- The version of this schema; one row. The statements above make version 1 of every older schema; each later version is
-- a file of sql/source/migrations.
CREATE TABLE IF NOT EXISTS dbanon.schema_version (
    version     INTEGER NOT NULL,
    updated_at  TIMESTAMP NOT NULL  -- UTC
);
