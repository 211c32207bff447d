"""Mistakes in calls of the table functions: arguments, sources, roles, hierarchies, data."""

from __future__ import annotations

from collections.abc import Iterator

from dbanon import errors
from dbanon.cluster import algorithms
from dbanon.manual.mistakes.mistake import FEW, Mistake, python, sql

_SHAPES = """CREATE TABLE shapes AS
SELECT
    [zip] AS zips,
    IF(patient_number % 2 = 0, '*', 'x') AS star,
    IF(patient_number % 2 = 0, sex, NULL) AS sex,
    IF(patient_number % 2 = 1, zip, NULL) AS zip,
    IF(patient_number % 4 = 0, 'F', 'M') AS gender,
    IF(patient_number % 4 = 0, 'nan'::DOUBLE, 70) AS weight,
    NULL::VARCHAR AS nothing
FROM patients
WHERE patient_number <= 100200;"""
"""Columns that are difficult."""

_WIDE = """CREATE TABLE wide AS
SELECT patient_number % 4 AS a, a AS b, a AS c, a AS d, a AS e, a AS f, a AS g, a AS h, a AS i, a AS j, a AS m, sex
FROM patients;"""
"""Eleven numbers of four values each: three levels."""

_INT2 = "an integer of at least 2"
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


def arguments() -> Iterator[Mistake]:
    """What is given to a function."""
    yield sql(errors.InvalidArgument("kacpc", "k", _INT2, "1"), "FROM kacpc('patients', k = 1);")
    yield sql(errors.MissingArgument("kacpc", "k", _INT2, "k = 10"), "FROM kacpc('patients');")
    yield sql(
        errors.UnknownParameter("k_anonymity", "persn", ("qi", "person")),
        "FROM k_anonymity('patients', persn = 'patient_number');",
    )
    yield sql(errors.UnreadableArgument("kacpc", "10"), "FROM kacpc('patients', 10);")
    yield sql(
        errors.RepeatedArgument("CREATE MATERIALIZED ANONYMIZED VIEW", "composition"),
        "CREATE MATERIALIZED ANONYMIZED VIEW safe WITH (composition = 'warn', composition = 'refuse')\n"
        "AS SELECT * FROM kacpc('patients', k = 10);",
    )
    yield sql(
        errors.UnknownAlgorithm("mondrain", [a.name for a in algorithms()]),
        "FROM inference('patients', k = 10, algorithm = 'mondrain');",
    )


def sources() -> Iterator[Mistake]:
    """What shall be anonymized."""
    yield sql(errors.NotATable("kacpc", "SELECT 1"), "FROM kacpc('SELECT 1', k = 10);")
    yield python(errors.NotData("anonymize", "'patients'"), 'dbanon.anonymize("patients", k=10, qi=["age"])')
    yield sql(errors.UnknownTable("kacpc", "patient", ["patients"]), "FROM kacpc('patient', k = 10);")
    yield sql(
        errors.AmbiguousTable("kacpc", "ward.few", ('"dbanon_demo"."ward"."few"', '"ward"."main"."few"')),
        "FROM kacpc('ward.few', k = 10);",
        "CREATE SCHEMA ward;",
        "CREATE TABLE ward.few AS FROM patients LIMIT 5;",
        "ATTACH ':memory:' AS ward;",
        "CREATE TABLE ward.main.few AS FROM patients LIMIT 5;",
    )
    yield python(
        errors.ShadowedTable("kacpc", "patients", '"dbanon_demo"."main"."patients"'),
        'import duckdb\n\nplain = dbanon.attach(duckdb.connect("dbanon_demo.duckdb"))\n'
        'plain.execute("CREATE TEMP TABLE patients AS FROM patients LIMIT 100")\n'
        "plain.execute(\"FROM kacpc('patients', k = 10)\")",
    )
    yield sql(
        errors.UnreadableFile("kacpc", "missing.csv", "there is no such file."),
        "FROM kacpc('missing.csv', k = 10);",
    )
    yield sql(
        errors.CallsItself("kacpc", "safe"),
        "FROM kacpc('safe', k = 20);",
        "CREATE VIEW safe AS SELECT * FROM kacpc('patients', k = 10);",
    )
    yield sql(
        errors.ShadowedLiterals("kacpc", ['"dbanon_demo"."main"."list_value"']),
        "FROM kacpc('patients', k = 10, withhold = ['zip']);",
        "CREATE MACRO list_value(a) AS system.main.list_value('sex');",
    )
    yield python(
        errors.UnreadableValue("kacpc", ["typed"], "Conversion Error"),
        "con.execute(\"FROM kacpc('typed', k = 10, qi = ['disease'])\").fetchall()",
        "CREATE TABLE diagnoses AS SELECT disease FROM patients;",
        "CREATE VIEW typed AS SELECT disease::DATE AS disease FROM diagnoses;",
    )
    yield sql(
        errors.RemoteFile("kacpc", "https://example.org/patients.csv", "httpfs"),
        "FROM kacpc('https://example.org/patients.csv', k = 10);",
    )
    yield python(
        errors.ReadOnly("declare", "clinic"),
        'import duckdb\n\nwith duckdb.connect("clinic.duckdb") as clinic:\n'
        '    clinic.execute("CREATE TABLE IF NOT EXISTS people AS SELECT 30 AS age")\n'
        'with dbanon.connect("clinic.duckdb", read_only=True) as clinic:\n'
        '    dbanon.declare(clinic, "people", age="quasi")',
    )
    yield sql(
        errors.EmptySource("kacpc", "nobody"),
        "FROM kacpc('nobody', k = 10, qi = ['zip']);",
        "CREATE TABLE nobody AS FROM patients LIMIT 0;",
    )
    yield sql(
        errors.NothingLeft("kacpc", "shapes"),
        "FROM kacpc('shapes', k = 10, qi = ['sex', 'zip'], nulls = 'drop');",
        _SHAPES,
    )


def roles() -> Iterator[Mistake]:
    """What the columns are."""
    yield sql(
        errors.UnknownColumn("kacpc", "patients", "zipp", "qi", _PATIENTS),
        "FROM kacpc('patients', k = 10, qi = ['zipp']);",
    )
    yield sql(
        errors.UnknownRole("few", "zip", "qausi", ("identifier", "person", "quasi", "sensitive", "other")),
        "FROM kacpc('few', k = 10);",
        FEW,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'zip', 'qausi');",
    )
    yield sql(
        errors.TwoRoles("kacpc", "few", "zip", ("quasi", "sensitive")),
        "FROM kacpc('few', k = 10, qi = ['zip'], sensitive = ['zip']);",
        FEW,
    )
    yield sql(
        errors.LoosensPolicy("kacpc", "patients", "name", "identifier", "sensitive"),
        "FROM kacpc('patients', k = 10, sensitive = ['name']);",
    )
    yield sql(
        errors.CutsGrid("kacpc", "few", "born", "month", "top", "1980-05-17"),
        "FROM kacpc('few', k = 10, top = {'born': '1980-05-17'});",
        "CREATE TABLE few AS SELECT DATE '1980-01-01' + i::INTEGER AS born FROM range(200) AS r (i);",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'born', 'quasi');",
    )
    yield sql(
        errors.Undeclared("kacpc", "few", "zip", "other"),
        "FROM kacpc('few', k = 10, other = ['zip']);",
        FEW,
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi');",
    )
    yield sql(
        errors.ViewOverPolicy("kacpc", "women", "dbanon_demo.main.patients", "zip"),
        "FROM kacpc('women', k = 10, qi = ['zip']);",
        "CREATE VIEW women AS SELECT zip, disease FROM patients WHERE sex = 'F';",
    )
    yield sql(errors.NoPolicy("kacpc", "few", _PATIENTS), "FROM kacpc('few', k = 10);", FEW)
    yield sql(
        errors.UnsupportedType("kacpc", "shapes", "zips", "VARCHAR[]"),
        "FROM kacpc('shapes', k = 10, qi = ['zips']);",
        _SHAPES,
    )
    yield sql(
        errors.UnsupportedPerson("kacpc", "shapes", "zips", "VARCHAR[]"),
        "FROM kacpc('shapes', k = 10, qi = ['gender'], person = 'zips');",
        _SHAPES,
    )
    yield sql(
        errors.RepeatedIdentifier("visits", "patient_number", 200, True),
        "SELECT problem, statement FROM policy_problems();",
        "CREATE TABLE visits AS FROM patients WHERE patient_number <= 100200 "
        "UNION ALL FROM patients WHERE patient_number <= 100200;",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('visits', 'patient_number', 'identifier');",
    )
    yield sql(
        errors.UnsupportedSetting("kacpc", "few", "zip", "top", "it is a category, not a number or a date."),
        "FROM kacpc('few', k = 10, qi = ['zip'], top = {'zip': 90});",
        FEW,
    )
    yield sql(
        errors.RareOther("kacpc", "few", "patient_number", 200, 10),
        "FROM kacpc('few', k = 10, qi = ['sex'], other = ['patient_number']);",
        FEW,
    )
    yield sql(
        errors.RareTogether("kacpc", "goods", ["product", "shop"], 100, 10),
        "FROM kacpc('goods', k = 10, qi = ['age'], other = ['product', 'shop']);",
        "CREATE TABLE goods AS\n"
        "SELECT 20 + i % 3 AS age, i % 10 AS product, i // 10 % 10 AS shop FROM range(200) AS r (i);",
    )
    yield sql(
        errors.UniqueUnchanged("incomes", ["income"], 50, False),
        "SELECT problem FROM policy_problems();",
        "CREATE TABLE incomes AS SELECT 20 + i % 3 AS age, 1000 + i AS income FROM range(50) AS r (i);",
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('incomes', 'income', 'sensitive');",
    )
    yield sql(
        errors.RareLeft("kacpc", "towns", "town", 1, 4),
        "FROM kacpc('towns', k = 4, qi = ['age'], other = ['town'], suppress = 0.15);",
        "CREATE TABLE towns AS\n"
        "SELECT 20 + i % 3 AS age, IF(i = 1, 'Salem', 'Boston') AS town FROM range(40) AS r (i)\n"
        "UNION ALL SELECT 90 * i, 'Salem' FROM range(1, 5) AS r (i);",
    )
    yield sql(
        errors.PolicyChanged("kacpc", "patients"),
        "FROM kacpc('patients', k = 10);",
        "BEGIN;",
        "DELETE FROM dbanon.policy WHERE column_name = 'zip';",
    )


def hierarchies() -> Iterator[Mistake]:
    """What values are generalized by, and published values."""
    yield sql(
        errors.UnknownHierarchy("kacpc", "zip55", "of few.zip", ["zip5"]),
        "FROM kacpc('few', k = 10, qi = ['zip'], hierarchies = {'zip': 'zip55'});",
        FEW,
    )
    yield sql(
        errors.MalformedHierarchy(
            "given as text", "it has 2 roots; the last field of every row must be the same, usually *.", stored=False
        ),
        "FROM kacpc('few', k = 10, qi = ['sex'], hierarchies = {'sex': E'F;f\\nM;m'});",
        FEW,
    )
    yield sql(
        errors.Uncovered("few", "sex", 2, "us_state", "us_state"),
        "FROM kacpc('few', k = 10, qi = ['sex'], hierarchies = {'sex': 'us_state'});",
        FEW,
    )
    yield sql(
        errors.ReservedValue("shapes", "star", 1),
        "FROM kacpc('shapes', k = 10, qi = ['star']);",
        _SHAPES,
    )
    yield sql(
        errors.AmbiguousValue("wards", "ward", 1),
        "FROM kacpc('wards', k = 2, qi = ['ward'], escape = true, "
        "hierarchies = {'ward': E'3A;other;north;*\\n3B;other;south;*'});",
        "CREATE TABLE wards AS SELECT IF(i = 1, 'other', '3A') AS ward FROM range(9) AS r (i);",
    )
    yield sql(errors.NotStored("covers", "zip55"), "SELECT covers('Boston', '02138', 'zip55');")
    yield sql(
        errors.NothingShared(
            "query_error", "diseases", "patients", ("birth_date", "sex", "zip", "marital_status", "occupation")
        ),
        "FROM query_error('diseases', 'patients');",
        "CREATE TABLE diseases AS SELECT disease FROM patients;",
    )
    yield sql(
        errors.NotAPublishedForm(
            "query_error", "vague", "birth_date", 1, "2020-01-31, [2020-01-01, 2020-01-31], and the same of times"
        ),
        "FROM query_error('vague', 'patients', qi = ['birth_date']);",
        "CREATE TABLE vague AS SELECT 'about 1950' AS birth_date FROM patients;",
    )


def data() -> Iterator[Mistake]:
    """What a table allows."""
    yield sql(errors.KOutOfRange("kacpc", "few", 500, 200, "rows"), "FROM kacpc('few', k = 500, qi = ['sex']);", FEW)
    yield sql(
        errors.TooFew("kacpc", "one", 1, "row"),
        "FROM kacpc('one', k = 2, qi = ['sex']);",
        "CREATE TABLE one AS FROM patients LIMIT 1;",
    )
    yield sql(
        errors.TooSmallBlock("kacpc", "k = 60", 50, ["gender"]),
        "FROM kacpc('shapes', k = 60, qi = ['gender'], hierarchies = {'gender': 'sex'}, max_level = {'gender': 0});",
        _SHAPES,
    )
    yield sql(
        errors.RoundAboveLevel("kacpc", "zip", 3),
        "FROM kacpc('few', k = 10, qi = ['zip'], hierarchies = {'zip': 'zip5'}, max_level = {'zip': 1}, "
        "round = {'zip': 3});",
        FEW,
    )
    yield Mistake(
        errors.TooLarge("oka", 900_000_000, 2_000_000, 10**15),
        when="It comes from algorithms whose time grows with the square of the table, on very large tables.",
    )
    yield sql(
        errors.TooManyLevels("ldiversity_mondrian", 4**11, 2_000_000),
        "FROM ldiversity_mondrian('wide', k = 2, qi = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'm'], "
        "sensitive = ['sex'], base := 'incognito');",
        _WIDE,
    )
    yield sql(
        errors.ModelNotMet("kacpc", "l = 5", "star", "l = 2"),
        "FROM kacpc('shapes', k = 10, qi = ['gender'], sensitive = ['star'], l = 5);",
        _SHAPES,
    )
    yield sql(errors.NoSensitive("kacpc", "few", "l"), "FROM kacpc('few', k = 10, qi = ['zip'], l = 2);", FEW)
    yield sql(
        errors.NoSensitiveHierarchy("kacpc", "patients", "disease"),
        "FROM kacpc('patients', k = 10, t = 0.3, emd = 'hierarchical');",
    )
    yield sql(
        errors.UnusedArgument("kacpc", "emd", "t is not given"), "FROM kacpc('patients', k = 10, emd = 'ordered');"
    )
    yield sql(errors.NoValues("kacpc", "shapes", "nothing"), "FROM kacpc('shapes', k = 10, qi = ['nothing']);", _SHAPES)
    yield sql(
        errors.NullsRefused("kacpc", "shapes", "sex", 100),
        "FROM kacpc('shapes', k = 10, qi = ['sex'], nulls = 'error');",
        _SHAPES,
    )
    yield sql(
        errors.NotFinite("kacpc", "shapes", "weight", 50),
        "FROM kacpc('shapes', k = 10, qi = ['weight']);",
        _SHAPES,
    )
    yield Mistake(
        errors.Interrupted("kacpc"),
        when="It comes when Ctrl-C is pressed, or con.interrupt() is called from another thread, during clustering.",
    )
    yield Mistake(
        errors.GateRefused("kacpc", "records are in classes below k", 3),
        when="It comes when an algorithm has a defect: the gate checks every result anew and lets no row leave.",
    )
