"""Statements that readers may run, and statements that are refused, over small tables."""

from __future__ import annotations

from typing import Any

TABLES = frozenset({("main", "safe"), ("main", "safe_classes"), ("lab", "tests")})
"""The published tables; `patients` is none of them."""

COLUMNS = {
    ("main", "safe"): {"age": "VARCHAR", "zip": "VARCHAR", "n": "INTEGER", "born": "DATE", "class_id": "INTEGER"},
    ("main", "safe_classes"): {"class_id": "INTEGER", "size": "INTEGER"},
    ("lab", "tests"): {"n": "INTEGER"},
}
"""Their columns."""


def create_tables(con: Any) -> None:
    """Create the published tables, a table that is not published, and functions for readers."""
    con.execute("CREATE TABLE safe (age VARCHAR, zip VARCHAR, n INTEGER, born DATE, class_id INTEGER)")
    con.execute("INSERT INTO safe VALUES ('[1, 2]', '02*', 1, '2020-01-01', 1), ('3', '*', 2, '2021-01-01', 1)")
    con.execute("CREATE TABLE safe_classes AS SELECT 1 AS class_id, 2 AS size")
    con.execute("CREATE SCHEMA lab")
    con.execute("CREATE TABLE lab.tests AS SELECT 1 AS n")
    con.execute("CREATE TABLE patients AS SELECT 'Guinevere' AS name")
    con.execute("CREATE MACRO midpoint(published) AS published")
    con.execute("CREATE MACRO certificate(release) AS TABLE SELECT release AS item")
    con.execute("CREATE MACRO releases() AS TABLE SELECT 'safe' AS name")


ASKED = """
FROM safe
FROM lab.tests
FROM main.safe AS s
VALUES (1, 'a'), (2, 'b')
SELECT age, count(*) FILTER (WHERE n > 1) AS x FROM safe WHERE zip LIKE '0%' AND n BETWEEN 1 AND 3 GROUP BY ALL
SELECT age FROM safe GROUP BY age HAVING count(*) > 0 ORDER BY age DESC NULLS LAST LIMIT 5 OFFSET 0
WITH a AS (SELECT * FROM safe), b (x) AS MATERIALIZED (SELECT n FROM a) SELECT * FROM b, a ORDER BY ALL
WITH a AS (WITH b AS (FROM safe) FROM b) FROM a
SELECT DISTINCT ON (age) * EXCLUDE (zip) REPLACE (n + 1 AS n) RENAME (born AS b) FROM safe AS s ORDER BY age
SELECT a.*, row_number() OVER (PARTITION BY age ORDER BY n ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) FROM safe AS a
SELECT sum(n) OVER w FROM safe WINDOW w AS (ORDER BY n)
SELECT * FROM safe AS a LEFT JOIN safe_classes USING (class_id) JOIN lab.tests AS t ON t.n = a.n
SELECT * FROM safe ASOF JOIN lab.tests AS t ON safe.n >= t.n
SELECT CASE WHEN n = 1 THEN 'a' ELSE 'b' END, n::VARCHAR, TRY_CAST(age AS INTEGER), coalesce(age, zip) FROM safe
SELECT n IN (1, 2), n IS NOT NULL, NOT n = 1, [1, 2][1], {'a': 1}.a, list_transform([1, 2], lambda x: x + 1) FROM safe
SELECT [x + 1 FOR x IN [1, 2] IF x > 1], CAST([1] AS BIGINT[]), CAST({'a': 1} AS STRUCT(a DOUBLE)), 1::DECIMAL(5, 2)
SELECT * FROM safe UNION ALL BY NAME SELECT * FROM safe ORDER BY 1
SELECT EXISTS (SELECT 1 FROM lab.tests AS t WHERE t.n = safe.n), n IN (SELECT n FROM lab.tests) FROM safe
SELECT (SELECT max(n) FROM lab.tests), n > ALL (SELECT n FROM lab.tests) FROM safe
SELECT grouping(age), count(DISTINCT n), string_agg(age, ',' ORDER BY n) FROM safe GROUP BY ROLLUP (age)
SELECT COLUMNS('a.*'), COLUMNS(c -> c LIKE 'n%') FROM safe
SELECT #1, n, date_trunc('month', born), born + INTERVAL 3 MONTH, extract(year FROM born), age COLLATE NOCASE FROM safe
SELECT unnest([1, 2]), * FROM unnest([1, 2]) AS t (y)
SELECT * FROM safe QUALIFY row_number() OVER () = 1
SELECT n FROM safe INTERSECT SELECT n FROM lab.tests
DESCRIBE safe
SUMMARIZE safe
SELECT midpoint(age) FROM safe
SELECT item FROM certificate('safe')
SELECT name FROM releases()
""".strip().split("\n")

REFUSED = {
    "what is no SELECT, is several, or is none": """
        CREATE TABLE x AS SELECT 1
        INSERT INTO safe SELECT * FROM safe
        DELETE FROM safe
        UPDATE safe SET n = 1
        DROP TABLE safe
        COPY safe TO '/tmp/x.csv'
        COPY (SELECT 1) TO '/tmp/x.csv'
        EXPORT DATABASE '/tmp/x'
        ATTACH '/tmp/x.duckdb' AS x
        DETACH releases
        INSTALL httpfs
        LOAD httpfs
        PRAGMA database_list
        PRAGMA version
        CALL pragma_version()
        SET memory_limit = '1TB'
        SET VARIABLE x = 1
        RESET memory_limit
        USE memory
        BEGIN
        COMMIT
        PREPARE p AS SELECT 1
        EXECUTE p
        DEALLOCATE p
        EXPLAIN FROM safe
        EXPLAIN ANALYZE FROM safe
        VACUUM
        CHECKPOINT
        CREATE SECRET (TYPE http)
        CREATE TEMP MACRO m() AS 1
        CREATE VIEW v AS FROM safe
        SELECT 1; SELECT 2
        SELECT 1; DROP TABLE safe
        ;
        /* nothing */
        PIVOT safe ON age USING sum(n)
        SHOW TABLES
        SHOW ALL TABLES
        SHOW DATABASES
        SELECT ?
        SELECT $1
        FROM safe WHERE n = $n
    """,
    "tables that are not published": """
        FROM patients
        FROM main.patients
        FROM "patients"
        FROM "Patients"
        FROM memory.main.patients
        FROM memory.main.safe
        FROM main.tests
        FROM lab.safe
        DESCRIBE patients
        SUMMARIZE patients
        SELECT (SELECT name FROM patients)
        SELECT * FROM safe WHERE EXISTS (SELECT 1 FROM patients)
        SELECT * FROM safe, LATERAL (SELECT name FROM patients) AS p
        SELECT * FROM safe AS patients, patients
        SELECT 1 FROM safe GROUP BY (SELECT name FROM patients)
        SELECT 1 FROM safe ORDER BY (SELECT name FROM patients)
        SELECT 1 FROM safe LIMIT (SELECT length(name) FROM patients)
        SELECT sum(n) FILTER (WHERE n IN (SELECT length(name) FROM patients)) FROM safe
        SELECT list_transform([1], lambda x: (SELECT name FROM patients))
        SELECT CASE WHEN true THEN (SELECT name FROM patients) END
        SELECT * REPLACE ((SELECT name FROM patients) AS age) FROM safe
        SELECT 1 FROM safe QUALIFY row_number() OVER (ORDER BY (SELECT name FROM patients)) = 1
        SELECT * FROM unnest((SELECT list(name) FROM patients))
        VALUES ((SELECT name FROM patients))
        SELECT CAST((SELECT name FROM patients) AS VARCHAR)
        SELECT (SELECT name FROM patients)::VARCHAR
        SELECT TRY_CAST((SELECT name FROM patients) AS INTEGER)
        SELECT 1 FROM safe OFFSET (SELECT length(name) FROM patients)
        SELECT 1 FROM safe LIMIT (SELECT length(name) FROM patients) PERCENT
        SELECT DISTINCT ON ((SELECT name FROM patients)) 1 FROM safe
        SELECT string_agg(age, ',' ORDER BY (SELECT name FROM patients)) FROM safe
        SELECT sum(n) OVER (PARTITION BY (SELECT name FROM patients)) FROM safe
        SELECT sum(n) OVER (ORDER BY n ROWS (SELECT length(name) FROM patients) PRECEDING) FROM safe
        SELECT lag(n, (SELECT length(name) FROM patients)) OVER (ORDER BY n) FROM safe
        SELECT sum(n) FILTER (WHERE (SELECT name FROM patients) = 'x') OVER () FROM safe
        SELECT first_value(n ORDER BY (SELECT name FROM patients)) OVER () FROM safe
        SELECT [(SELECT name FROM patients)]
        SELECT {'a': (SELECT name FROM patients)}
        SELECT MAP {'a': (SELECT name FROM patients)}
        SELECT [x FOR x IN [1] IF (SELECT name FROM patients) = 'x']
        SELECT [1, 2][(SELECT length(name) FROM patients)]
        SELECT [1, 2][1:(SELECT length(name) FROM patients)]
        SELECT n BETWEEN 1 AND (SELECT length(name) FROM patients) FROM safe
        SELECT (SELECT name FROM patients) COLLATE NOCASE
        SELECT n = ANY (SELECT length(name) FROM patients) FROM safe
        SELECT (n, 'x') IN (SELECT 1, name FROM patients) FROM safe
        SELECT 1 FROM safe HAVING (SELECT name FROM patients) = 'x'
        SELECT 1 FROM safe GROUP BY GROUPING SETS (((SELECT name FROM patients)), ())
        SELECT * FROM safe JOIN safe_classes ON (SELECT name FROM patients) = 'x'
        SELECT * FROM safe POSITIONAL JOIN patients
        SELECT * FROM safe SEMI JOIN patients ON true
        SELECT 1 UNION SELECT name FROM patients
        SELECT 1 ORDER BY (SELECT (SELECT (SELECT name FROM patients)::VARCHAR))
        FROM (VALUES (1), ((SELECT length(name) FROM patients)))
        FROM unnest([(SELECT name FROM patients)])
        WITH a AS (SELECT (SELECT name FROM patients)::VARCHAR) FROM a
        WITH safe AS (FROM safe) SELECT * FROM safe, patients
        DESCRIBE SELECT (SELECT name FROM patients)::VARCHAR
        SELECT COLUMNS(c -> c = (SELECT name FROM patients)) FROM safe
        WITH patients AS (FROM patients) FROM patients
        WITH a AS (FROM b), b AS (FROM safe) FROM a
        WITH a AS (FROM safe) SELECT 1 UNION ALL (WITH b AS (FROM safe) FROM b) UNION ALL FROM b
        SELECT * FROM (WITH duckdb_tables AS (FROM safe) FROM duckdb_tables), duckdb_tables
        FROM duckdb_tables
        FROM duckdb_views
        FROM duckdb_secrets
        FROM pg_catalog.pg_class
        FROM pg_tables
        FROM sqlite_master
        FROM information_schema.tables
        FROM information_schema.columns
        FROM '/etc/passwd'
        FROM 'data.csv'
        FROM "data.parquet"
        FROM 'https://example.org/x.csv'
        FROM con
        FROM safe AT (VERSION => 1)
    """,
    "functions that are not known to be harmless": """
        FROM read_csv('/etc/passwd')
        FROM read_csv_auto('/etc/passwd')
        FROM read_text('/etc/passwd')
        FROM read_blob('/etc/passwd')
        FROM read_json('/etc/passwd')
        FROM read_parquet('/etc/passwd')
        FROM parquet_metadata('/etc/passwd')
        FROM sniff_csv('/etc/passwd')
        FROM glob('/*')
        FROM query('FROM patients')
        FROM query_table('patients')
        FROM query_table(['patients'])
        FROM duckdb_settings()
        FROM duckdb_secrets()
        FROM duckdb_databases()
        FROM duckdb_tables()
        FROM duckdb_functions()
        FROM duckdb_logs()
        FROM duckdb_temporary_files()
        FROM duckdb_memory()
        FROM duckdb_extensions()
        FROM pragma_database_list()
        FROM pragma_storage_info('safe')
        FROM pragma_table_info('patients')
        FROM system.main.read_text('/etc/passwd')
        FROM "read_text"('/etc/passwd')
        FROM READ_TEXT('/etc/passwd')
        FROM json_execute_serialized_sql('{}')
        FROM seq_scan('patients')
        FROM histogram('patients', 'name')
        FROM histogram_values('patients', 'name')
        FROM range(1000000000000)
        FROM generate_series(1, 1000000000000)
        FROM repeat('x', 1000000000000)
        FROM summary((FROM patients))
        FROM quack_query('quack:localhost', 'SELECT 1')
        FROM unnest([1]) WITH ORDINALITY
        FROM unnest([1, 2] ORDER BY (SELECT name FROM patients))
        FROM unnest([1, 2] ORDER BY 1)
        FROM unnest(DISTINCT [1, 2])
        FROM unnest([1, 2]) FILTER (WHERE (SELECT name FROM patients) = 'x')
        FROM unnest([1, 2] ORDER BY read_text('/etc/passwd'))
        FROM certificate('safe' ORDER BY (SELECT name FROM patients))
        FROM releases(ORDER BY (SELECT name FROM patients))
        FROM kacpc('patients' ORDER BY (SELECT name FROM patients))
        FROM certificate((SELECT name FROM patients))
        SELECT read_text('/etc/passwd')
        SELECT CAST(getvariable('x') AS VARCHAR)
        SELECT current_setting('memory_limit')::VARCHAR
        SELECT sum(n ORDER BY getvariable('x')) FROM safe
        SELECT 1 FROM safe LIMIT getvariable('x')
        SELECT [getvariable(x) FOR x IN ['a']]
        FROM (FROM query_table(['patients', 'safe']))
        SELECT list_aggr([1], 'sum')
        SELECT getenv('HOME')
        SELECT current_setting('memory_limit')
        SELECT getvariable('x')
        SELECT current_query()
        SELECT current_database()
        SELECT current_schemas(true)
        SELECT pg_get_viewdef(1)
        SELECT txid_current()
        SELECT nextval('s')
        SELECT error('x')
        SELECT sleep_ms(1000)
        SELECT pg_sleep(1)
        SELECT setseed(0.5)
        SELECT random()
        SELECT gen_random_uuid()
        SELECT now()
        SELECT write_log('x')
        SELECT stats(n) FROM safe
        SELECT vector_type(n) FROM safe
        SELECT json_serialize_plan('FROM patients')
        SELECT json_serialize_sql('SELECT 1')
        SELECT repeat('x', 1000000000000)
        SELECT range(1000000000000)
        SELECT lpad('x', 1000000000, 'y')
        SELECT printf('%1000000000d', 1)
        SELECT format('{:1000000000}', 1)
        SELECT bar(1, 0, 1, 1000000000)
        SELECT list_resize([1], 1000000000)
        SELECT list_aggregate([1], 'sum')
        SELECT system.main.abs(1)
        SELECT age.read_text() FROM safe
        SELECT list_transform(['/etc/passwd'], lambda x: read_text(x))
        SELECT sum(getvariable('x')) OVER () FROM safe
        SELECT CAST('x' AS patients)
        SELECT CAST('x' AS ENUM ('x'))
        SELECT CAST('x' AS STRUCT(a JSON))
        SELECT age COLLATE de FROM safe
    """,
    "forms that are not known": """
        WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) FROM r
        WITH RECURSIVE r (i) USING KEY (i) AS (SELECT 1 UNION SELECT i FROM r) FROM r
        FROM safe USING SAMPLE 10%
        FROM safe TABLESAMPLE 10%
        FROM safe TABLESAMPLE reservoir(1 ROWS)
        SELECT * FROM (FROM safe) AS s TABLESAMPLE 10%
        SELECT (SELECT count(*) FROM safe USING SAMPLE 1)
        WITH a AS (FROM safe USING SAMPLE 1) FROM a
        SELECT * FROM safe PIVOT (sum(n) FOR age IN ('3'))
        SELECT * FROM (UNPIVOT lab.tests ON n INTO NAME k VALUE v)
    """,
}
