"""Mistakes about what shall be anonymized."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import SHAPES, Mistake, python, sql

MISTAKES: tuple[Mistake, ...] = (
    sql(errors.NotATable("kacpc", "SELECT 1"), "FROM kacpc('SELECT 1', k = 10);"),
    python(errors.NotData("anonymize", "'patients'"), 'dbanon.anonymize("patients", k=10, qi=["age"])'),
    python(
        errors.RepeatedColumns("anonymize", "Age", "age"),
        "import pandas as pd\n\n"
        'twice = pd.DataFrame([[21, 30], [23, 70]], columns=["Age", "age"])\n'
        'dbanon.anonymize(twice, k=2, qi=["age"])',
    ),
    sql(errors.UnknownTable("kacpc", "patient", ["patients"]), "FROM kacpc('patient', k = 10);"),
    sql(
        errors.AmbiguousTable("kacpc", "ward.few", ('"dbanon_demo"."ward"."few"', '"ward"."main"."few"')),
        "FROM kacpc('ward.few', k = 10);",
        "CREATE SCHEMA ward;",
        "CREATE TABLE ward.few AS FROM patients LIMIT 5;",
        "ATTACH ':memory:' AS ward;",
        "CREATE TABLE ward.main.few AS FROM patients LIMIT 5;",
    ),
    python(
        errors.ShadowedTable("kacpc", "patients", '"dbanon_demo"."main"."patients"'),
        'import duckdb\n\nplain = dbanon.attach(duckdb.connect("dbanon_demo.duckdb"))\n'
        'plain.execute("CREATE TEMP TABLE patients AS FROM patients LIMIT 100")\n'
        "plain.execute(\"FROM kacpc('patients', k = 10)\")",
    ),
    sql(
        errors.UnreadableFile("kacpc", "missing.csv", "there is no such file."),
        "FROM kacpc('missing.csv', k = 10);",
    ),
    sql(
        errors.CallsItself("kacpc", "safe"),
        "FROM kacpc('safe', k = 20);",
        "CREATE VIEW safe AS SELECT * FROM kacpc('patients', k = 10);",
    ),
    sql(
        errors.ShadowedLiterals("kacpc", ['"dbanon_demo"."main"."list_value"']),
        "FROM kacpc('patients', k = 10, withhold = ['zip']);",
        "CREATE MACRO list_value(a) AS system.main.list_value('sex');",
    ),
    python(
        errors.UnreadableValue("kacpc", ["typed"], "Conversion Error"),
        "con.execute(\"FROM kacpc('typed', k = 10, qi = ['disease'])\").fetchall()",
        "CREATE TABLE diagnoses AS SELECT disease FROM patients;",
        "CREATE VIEW typed AS SELECT disease::DATE AS disease FROM diagnoses;",
    ),
    sql(
        errors.RemoteFile("kacpc", "https://example.org/patients.csv", "httpfs"),
        "FROM kacpc('https://example.org/patients.csv', k = 10);",
    ),
    Mistake(
        errors.NewerDatabase("clinic.duckdb", "1.5.6", "69", "64 and 68"),
        when="It comes when a database is opened that a newer DuckDB made.",
    ),
    Mistake(
        errors.NewerSchemaError("clinic", 2, 1),
        when="It comes when a database is opened in which a later dbanon wrote the schema dbanon.",
    ),
    python(
        errors.ReadOnly("declare", "clinic"),
        'import duckdb\n\nwith duckdb.connect("clinic.duckdb") as clinic:\n'
        '    clinic.execute("CREATE TABLE IF NOT EXISTS people AS SELECT 30 AS age")\n'
        'with dbanon.connect("clinic.duckdb", read_only=True) as clinic:\n'
        '    dbanon.declare(clinic, "people", age="quasi")',
    ),
    sql(
        errors.EmptySource("kacpc", "nobody"),
        "FROM kacpc('nobody', k = 10, qi = ['zip']);",
        "CREATE TABLE nobody AS FROM patients LIMIT 0;",
    ),
    sql(
        errors.NothingLeft("kacpc", "shapes"),
        "FROM kacpc('shapes', k = 10, qi = ['sex', 'zip'], nulls = 'drop');",
        SHAPES,
    ),
)
