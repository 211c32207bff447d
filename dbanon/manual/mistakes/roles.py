"""Mistakes about what the columns are."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import FEW, SHAPES, Mistake, python, sql
from dbanon.policy.column_roles import ROLES

_PATIENTS = (
    "patient_number",
    "name",
    "birth_date",
    "sex",
    "zip",
    "marital_status",
    "occupation",
    "disease",
)

MISTAKES: tuple[Mistake, ...] = (
    sql(
        errors.UnknownColumn("kacpc", "patients", "zipp", "qi", _PATIENTS),
        "FROM kacpc('patients', k = 10, qi = ['zipp']);",
    ),
    sql(
        errors.UnknownRole("few", "zip", "qausi", ROLES),
        "FROM kacpc('few', k = 10);",
        FEW,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'zip', 'qausi');",
    ),
    sql(
        errors.TwoRoles("kacpc", "few", "zip", ("quasi", "sensitive")),
        "FROM kacpc('few', k = 10, qi = ['zip'], sensitive = ['zip']);",
        FEW,
    ),
    sql(
        errors.LoosensPolicy("kacpc", "patients", "name", "identifier", "sensitive"),
        "FROM kacpc('patients', k = 10, sensitive = ['name']);",
    ),
    sql(
        errors.CutsGrid("kacpc", "few", "born", "month", "top", "1980-05-17"),
        "FROM kacpc('few', k = 10, top = {'born': '1980-05-17'});",
        "CREATE TABLE few AS SELECT DATE '1980-01-01' + i::INTEGER AS born FROM range(200) AS r (i);",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'born', 'quasi');",
    ),
    sql(
        errors.Undeclared("kacpc", "few", "zip", "other"),
        "FROM kacpc('few', k = 10, other = ['zip']);",
        FEW,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi');",
    ),
    sql(
        errors.ViewOverPolicy("kacpc", "women", "dbanon_demo.main.patients", "zip"),
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        "CREATE VIEW women AS SELECT zip, disease FROM patients WHERE sex = 'F';",
    ),
    sql(
        errors.SourceChangedError("kacpc", "women"),
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        FEW,
        "CREATE VIEW women AS SELECT zip, disease FROM few WHERE sex = 'F';",
        "CREATE TEMP VIEW few AS FROM patients;",
    ),
    sql(
        errors.SourceNotResolvedError(
            "kacpc",
            "women",
            "reads what only its own connection has, or calls a function that is not stored",
            "read stored tables in it",
        ),
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        FEW.replace("TABLE few", "TEMP TABLE copied"),
        "CREATE VIEW women AS SELECT zip, disease FROM copied WHERE sex = 'F';",
    ),
    python(
        errors.RelationOverPolicyError("anonymize", "dbanon_demo.main.patients"),
        'dbanon.anonymize(con.table("patients"), k=10, qi=["zip"])',
    ),
    Mistake(
        errors.DatabaseReadAsFileError("kacpc", "women", ["read_duckdb"]),
        when="A view calls DuckDB's function read_duckdb, which DuckDB has from version 2 on.",
    ),
    sql(
        errors.UnmatchedPolicyError("kacpc", "dbanon_demo.main.few", "dbanon_demo", ("main", "fwe"), ("main", "few")),
        "FROM kacpc('few', k = 10, qi = ['zip']);",
        FEW,
        "INSERT INTO dbanon.policy (table_name, column_name, role) "
        "VALUES ('fwe', 'name', 'identifier'), ('fwe', 'zip', 'quasi');",
    ),
    sql(errors.NoPolicy("kacpc", "few", "birth_date"), "FROM kacpc('few', k = 10);", FEW),
    sql(
        errors.UnsupportedType("kacpc", "shapes", "zips", "VARCHAR[]"),
        "FROM kacpc('shapes', k = 10, qi = ['zips']);",
        SHAPES,
    ),
    sql(
        errors.UnsupportedPerson("kacpc", "shapes", "zips", "VARCHAR[]"),
        "FROM kacpc('shapes', k = 10, qi = ['gender'], person = 'zips');",
        SHAPES,
    ),
    sql(
        errors.CollatedColumnError("kacpc", "notes", ["disease"]),
        "FROM kacpc('notes', k = 3, qi = ['age'], sensitive = ['disease']);",
        "CREATE TABLE notes AS SELECT 40 + i AS age, 'flu' COLLATE NOCASE AS disease FROM range(9) AS r (i);",
    ),
    sql(
        errors.RepeatedIdentifier("visits", "patient_number", 200, True),
        "SELECT problem, statement FROM policy_problems();",
        "CREATE TABLE visits AS FROM patients WHERE patient_number <= 100200 "
        "UNION ALL FROM patients WHERE patient_number <= 100200;",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('visits', 'patient_number', 'identifier');",
    ),
    sql(
        errors.UnsupportedSetting("kacpc", "few", "zip", "top", "it is a category, not a number or a date."),
        "FROM kacpc('few', k = 10, qi = ['zip'], top = {'zip': 90});",
        FEW,
    ),
    sql(
        errors.RareOther("kacpc", "few", "patient_number", 200, 10),
        "FROM kacpc('few', k = 10, qi = ['sex'], other = ['patient_number']);",
        FEW,
    ),
    sql(
        errors.RareTogether("kacpc", "goods", ["product", "shop"], 100, 10),
        "FROM kacpc('goods', k = 10, qi = ['age'], other = ['product', 'shop']);",
        "CREATE TABLE goods AS\n"
        "SELECT 20 + i % 3 AS age, i % 10 AS product, i // 10 % 10 AS shop FROM range(200) AS r (i);",
    ),
    sql(
        errors.UniqueUnchanged("incomes", ["income"], 50, False),
        "SELECT problem FROM policy_problems();",
        "CREATE TABLE incomes AS SELECT 20 + i % 3 AS age, 1000 + i AS income FROM range(50) AS r (i);",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('incomes', 'income', 'sensitive');",
    ),
    sql(
        errors.PersonSpellingsError("stays", "patient", 80),
        "SELECT problem FROM policy_problems();",
        "CREATE TABLE stays AS SELECT ['p', 'P'][i % 2 + 1] || i // 2 AS patient,\n"
        "20 + i % 9 AS age FROM range(80) AS r (i);",
        "INSERT INTO dbanon.policy (table_name, column_name, role)\n"
        "VALUES ('stays', 'patient', 'person'), ('stays', 'age', 'quasi');",
    ),
    sql(
        errors.UndoneLimitError("elderly", "age", "top 90", "birth_year", "generalized"),
        "SELECT problem FROM policy_problems();",
        "CREATE TABLE elderly AS SELECT 20 + i % 80 AS age, 2004 - i % 80 AS birth_year FROM range(800) AS r (i);",
        "INSERT INTO dbanon.policy (table_name, column_name, role, top)\n"
        "VALUES ('elderly', 'age', 'quasi', '90'), ('elderly', 'birth_year', 'quasi', NULL);",
    ),
    sql(
        errors.RareLeft("kacpc", "towns", "town", 1, 4),
        "FROM kacpc('towns', k = 4, qi = ['age'], other = ['town'], suppress = 0.15);",
        "CREATE TABLE towns AS\n"
        "SELECT 20 + i % 3 AS age, IF(i = 1, 'Salem', 'Boston') AS town FROM range(40) AS r (i)\n"
        "UNION ALL SELECT 90 * i, 'Salem' FROM range(1, 5) AS r (i);",
    ),
    sql(
        errors.PolicyChanged("kacpc", "patients"),
        "FROM kacpc('patients', k = 10);",
        "BEGIN;",
        "DELETE FROM dbanon.policy WHERE column_name = 'zip';",
    ),
)
