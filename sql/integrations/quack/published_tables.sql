{#- What readers can see of the releases of a server: the releases, the permissions, and the functions that return
    them. -#}
CREATE TABLE dbanon.served (
    schema_name VARCHAR,
    name VARCHAR,
    shown VARCHAR,
    version INTEGER,
    records BIGINT,
    certificate STRUCT(section VARCHAR, item VARCHAR, value VARCHAR, "sql" VARCHAR)[]
);
CREATE TABLE dbanon.permitted (
    source VARCHAR,
    algorithms VARCHAR[],
    k INTEGER,
    parameters VARCHAR,
    reader VARCHAR,
    max_requests INTEGER
);
CREATE TABLE dbanon.release_request (algorithm VARCHAR, source VARCHAR, parameters VARCHAR, schema_name VARCHAR, \
    name VARCHAR);
CREATE MACRO releases() AS TABLE
SELECT schema_name, name, version, records FROM dbanon.served ORDER BY schema_name ASC, name ASC;
CREATE MACRO certificate(release) AS TABLE
SELECT unnest(certificate, max_depth := 2) FROM dbanon.served \
    WHERE system.main.lower(shown) = system.main.lower(release)
