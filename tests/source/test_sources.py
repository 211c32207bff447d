"""The first argument of a call: names, files, temporary relations and DataFrames, and refused values."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.source import catalog, earlier_schema
from dbanon.sqltext import names

ROWS = """
    SELECT i AS rid, 20 + i % 7 AS age, ['M', 'F'][1 + i % 2] AS sex, ['Flu', 'HIV', 'Cold'][1 + i % 3] AS disease
    FROM range(12) AS r (i)
"""
ROLES = "k=3, qi=['age', 'sex'], sensitive=['disease']"


@pytest.fixture
def clinic(con: Any) -> Any:
    """Provide an attached plain connection with the table `patients` of twelve rows."""
    con.execute(f"CREATE TABLE patients AS {ROWS}")
    return con


@pytest.fixture(scope="module")
def shared_clinic() -> Iterator[Any]:
    """Provide a shared clinic for tests that do not change it."""
    with duckdb.connect() as connection:
        dbanon.attach(connection)
        connection.execute(f"CREATE TABLE patients AS {ROWS}")
        yield connection


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def release(connection: Any, source: str, arguments: str = ROLES) -> list[tuple[Any, ...]]:
    """Return the released rows of a source."""
    return connection.execute(f"FROM kacpc({literal(source)}, {arguments})").fetchall()


def count(connection: Any, source: str, arguments: str = ROLES) -> int:
    """Return the number of rows that the release of a source has."""
    return len(release(connection, source, arguments))


def one_value(connection: Any, query: str) -> Any:
    return connection.execute(query).fetchall()[0][0]


# --- names --------------------------------------------------------------------------------------------------

ODD = [
    "my table", "x'); DROP TABLE patients; --", "🙂", "a.b", "a.b.c.d", 'Ta"b"le', "it's", "1abc", "new\nline",
    "MiXed ünï", "x.parquet", " lead ", "range(10)", "(select 1)", "/* x */ --", "$1", "?", "{{ x }}", "%s",
]  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_source_names_accepted_quoted_and_qualified(shared_clinic: Any, name: str) -> None:
    """A name without dots needs no quotes."""
    schema = quoted("the " + name)
    shared_clinic.execute(f"CREATE SCHEMA {schema}")
    shared_clinic.execute(f"CREATE TABLE {schema}.{quoted(name)} AS FROM patients LIMIT 6")
    shared_clinic.execute(f"CREATE TABLE {quoted(name)} AS FROM patients LIMIT 7")
    bare_name = quoted(name) if "." in name else name
    for source in (bare_name, f"MEMORY.main.{quoted(name)}"):
        assert count(shared_clinic, source) == 7
    assert count(shared_clinic, f"{schema}.{quoted(name)}") == 6
    shared_clinic.execute(f"DROP SCHEMA {schema} CASCADE")
    shared_clinic.execute(f"DROP TABLE {quoted(name)}")
    assert one_value(shared_clinic, "SELECT count(*) FROM patients") == 12


def test_source_names_ignore_case(clinic: Any) -> None:
    assert release(clinic, "PATIENTS") == release(clinic, "Main.Patients") == release(clinic, "patients")
    assert release(clinic, '"PATIENTS"') == release(clinic, "patients")


def test_odd_column_names_and_values_read_completely(clinic: Any) -> None:
    columns = ['a"b', "it's", "x); DROP TABLE patients; --", "🙂 {{ x }}"]
    names = ", ".join(
        f"{old} AS {quoted(new)}" for old, new in zip(("rid", "age", "sex", "disease"), columns, strict=True)
    )
    clinic.execute(f"CREATE TABLE odd AS SELECT {names} FROM patients")
    clinic.execute(f"""UPDATE odd SET {quoted(columns[2])} = '''); DROP TABLE patients; --"{{{{ x }}}}\\'
        WHERE {quoted(columns[2])} = 'M'""")
    text = (
        f"k=3, qi=[{literal(columns[1])}, {literal(columns[2])}], sensitive=[{literal(columns[3])}], "
        f"person={literal(columns[0])}"
    )
    result = clinic.execute(f"FROM kacpc('odd', {text})")
    assert [c[0] for c in result.description] == [columns[1], columns[2], columns[3], "class_id"]
    assert {row[1] for row in result.fetchall()} <= {"F", "*", "'); DROP TABLE patients; --\"{{ x }}\\"}
    for ending in ("_classes", "_metrics"):
        assert clinic.execute(f"FROM kacpc{ending}('odd', {text})").fetchall()
    assert one_value(clinic, "SELECT count(*) FROM patients") == 12


def test_source_in_schema_or_attached_database_accepted(clinic: Any, tmp_path: Path) -> None:
    clinic.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    clinic.execute("CREATE TABLE clinic.main.visits AS FROM patients LIMIT 6")
    clinic.execute("CREATE SCHEMA clinic.ward")
    clinic.execute("CREATE TABLE clinic.ward.visits AS FROM patients LIMIT 7")
    clinic.execute("CREATE SCHEMA ward")
    clinic.execute("CREATE TABLE ward.visits AS FROM patients LIMIT 8")
    assert count(clinic, "clinic.main.visits") == 6
    assert count(clinic, "clinic.visits") == 6
    assert count(clinic, "clinic.ward.visits") == 7
    assert count(clinic, "ward.visits") == 8
    with pytest.raises(duckdb.Error, match="no table, view or file 'visits'"):
        release(clinic, "visits")


def test_name_of_schema_and_database_must_be_qualified(clinic: Any, tmp_path: Path) -> None:
    clinic.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS ward")
    clinic.execute("CREATE TABLE ward.main.visits AS FROM patients LIMIT 6")
    clinic.execute("CREATE SCHEMA memory.ward")
    clinic.execute("CREATE TABLE memory.ward.visits AS FROM patients LIMIT 8")
    with pytest.raises(duckdb.Error, match=r"'ward\.visits' can be"):
        release(clinic, "ward.visits")
    assert count(clinic, "ward.main.visits") == 6
    assert count(clinic, "memory.ward.visits") == 8


def test_unqualified_source_follows_use_and_search_path(clinic: Any, tmp_path: Path) -> None:
    clinic.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    clinic.execute("CREATE SCHEMA clinic.ward")
    clinic.execute('CREATE SCHEMA "odd ward"')
    sizes = {"clinic.main": 5, "clinic.ward": 6, "memory.main": 7, 'memory."odd ward"': 8}
    for schema, size in sizes.items():
        clinic.execute(f"CREATE TABLE {schema}.visits AS FROM memory.main.patients LIMIT {size}")
    clinic.execute("CREATE TABLE clinic.main.only AS FROM memory.main.patients LIMIT 9")
    settings = {
        "USE memory": 7,
        "USE clinic": 5,
        "USE clinic.ward": 6,
        'USE memory."odd ward"': 8,
        "SET search_path = 'clinic.ward,memory.main'": 6,
        "SET search_path = 'memory.main,clinic.ward'": 7,
    }
    for setting, size in settings.items():
        clinic.execute(setting)
        assert one_value(clinic, "SELECT count(*) FROM visits") == size, setting
        assert count(clinic, "visits") == size, setting
    clinic.execute("USE clinic.ward")
    assert count(clinic, "only") == 9
    assert count(clinic, "memory.visits") == 7


@pytest.mark.parametrize("schema", ["odd ward", "a.b", "a,b", 'a"b', "it's"])
def test_odd_schema_on_search_path_is_resolved(clinic: Any, schema: str) -> None:
    clinic.execute(f"CREATE SCHEMA {quoted(schema)}")
    clinic.execute(f"CREATE TABLE {quoted(schema)}.patients AS FROM main.patients LIMIT 5")
    clinic.execute(f"CREATE TABLE {quoted(schema)}.only AS FROM main.patients LIMIT 6")
    for path, size in ((f"memory.{quoted(schema)},memory.main", 5), (f"memory.main,memory.{quoted(schema)}", 12)):
        clinic.execute(f"SET search_path = {literal(path)}")
        assert one_value(clinic, "SELECT count(*) FROM patients") == size
        assert count(clinic, "patients") == size
        assert count(clinic, "only") == 6


def test_policy_of_read_database_applies(clinic: Any, tmp_path: Path) -> None:
    clinic.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
    clinic.execute("CREATE TABLE clinic.main.patients AS FROM memory.main.patients")
    dbanon.declare(clinic, "clinic.main.patients", age="quasi", disease="identifier")
    dbanon.declare(clinic, "memory.main.patients", age="quasi", disease="sensitive")
    assert one_value(clinic, "SELECT count(*) FROM clinic.dbanon.policy") == 2
    assert len(release(clinic, "patients", "k=3")[0]) == 3
    assert len(release(clinic, "clinic.patients", "k=3")[0]) == 2
    clinic.execute("USE clinic")
    assert len(release(clinic, "patients", "k=3")[0]) == 2
    assert len(release(clinic, "memory.patients", "k=3")[0]) == 3


def test_views_accepted_as_source(clinic: Any) -> None:
    clinic.execute("CREATE VIEW young AS FROM patients WHERE age < 24")
    clinic.execute("CREATE VIEW renamed AS SELECT age AS years, disease FROM young")
    clinic.execute("CREATE VIEW grouped AS SELECT age, any_value(sex) AS sex, count(*) AS n FROM patients GROUP BY age")
    size = one_value(clinic, "SELECT count(*) FROM young")
    assert count(clinic, "young") == count(clinic, "main.young") == size
    assert count(clinic, "renamed", "k=3, qi=['years']") == size
    assert count(clinic, "grouped", "k=3, qi=['age'], insensitive='sex', allow_rare='sex'") == 7
    dbanon.declare(clinic, "young", age="quasi", disease="sensitive")
    assert count(clinic, "young", "k=3") == size
    clinic.execute("INSERT INTO patients VALUES (99, 20, 'F', 'Flu')")
    assert count(clinic, "young", "k=3") == size + 1


def test_view_of_release_can_be_source(clinic: Any) -> None:
    clinic.execute(f"CREATE VIEW safe AS FROM kacpc('patients', {ROLES})")
    assert len(clinic.execute("FROM mondrian('safe', k=3, qi=['disease'])").fetchall()) == 12


# --- files --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["p.parquet", "p.csv", "p.csv.gz", "p.json", "it's odd; name.csv", "P.CSV"])
def test_files_accepted_as_source(shared_clinic: Any, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    options = " (FORMAT csv)" if name == "P.CSV" else ""
    shared_clinic.execute(f"COPY patients TO {literal(str(path))}{options}")
    assert release(shared_clinic, str(path)) == release(shared_clinic, "patients")


def test_relative_path_accepted_and_glob_pattern_refused(
    clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    clinic.execute("COPY patients TO 'p1.parquet'")
    clinic.execute("COPY patients TO 'p2.parquet'")
    assert count(clinic, "p1.parquet") == count(clinic, "./p1.parquet") == 12
    with pytest.raises(duckdb.Error, match=r"there is no such file\. Hint: a name refers to one file"):
        release(clinic, "p*.parquet")
    clinic.execute("CREATE VIEW pair AS FROM 'p*.parquet'")
    assert count(clinic, "pair") == 24


def test_table_takes_precedence_over_file(clinic: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    clinic.execute("COPY patients TO 'p.csv'")
    assert count(clinic, "p.csv") == 12
    clinic.execute('CREATE TABLE "p.csv" AS FROM patients LIMIT 5')
    assert count(clinic, '"p.csv"') == one_value(clinic, 'SELECT count(*) FROM "p.csv"') == 5


@pytest.mark.parametrize("name", ["missing.csv", "missing.parquet", "broken.parquet", "x' UNION FROM patients --.csv"])
def test_unreadable_source_file_refused(shared_clinic: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / "broken.parquet").write_text("this is not Parquet, though it is long enough to have a footer")
    with pytest.raises(duckdb.Error, match="cannot read the file"):
        release(shared_clinic, str(tmp_path / name))
    assert count(shared_clinic, "patients") == 12


def test_file_source_requires_no_catalog(tmp_path: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"COPY ({ROWS}) TO {literal(str(tmp_path / 'p.parquet'))}")
        dbanon.attach(connection, catalog=False)
        assert count(connection, str(tmp_path / "p.parquet")) == 12
        assert one_value(connection, "SELECT count(*) FROM duckdb_schemas() WHERE schema_name = 'dbanon'") == 0


# --- read-only databases ------------------------------------------------------------------------------------


@pytest.fixture
def database_path(tmp_path: Path) -> str:
    """Create a database file with the table `patients` and without the schema `dbanon`."""
    with duckdb.connect(str(tmp_path / "clinic.duckdb")) as connection:
        connection.execute(f"CREATE TABLE patients AS {ROWS}")
    return str(tmp_path / "clinic.duckdb")


def test_read_only_database_accepts_roles_as_parameters(database_path: str) -> None:
    arguments = (
        "k=3, qi=['age', 'sex'], sensitive=['disease'], person='rid', weights={'age': 2}, hierarchies={'sex': 'sex'}"
    )
    with duckdb.connect(database_path) as writer:
        dbanon.attach(writer, catalog=False)
        expected = release(writer, "patients", arguments.replace("'sex': 'sex'", "'sex': E'M;*\\nF;*'"))
    with duckdb.connect(database_path, read_only=True) as reader:
        dbanon.attach(reader)
        assert release(reader, "patients", arguments.replace("'sex': 'sex'", "'sex': E'M;*\\nF;*'")) == expected
        with pytest.raises(duckdb.Error, match=r"no quasi-identifier is declared.*INSERT INTO dbanon\.policy.*qi = "):
            release(reader, "patients", "k=3")
        for query in (
            "policy_problems()",
            "hierarchy_problems()",
            "uncovered_values('patients', 'sex', hierarchy='sex')",
        ):
            assert reader.execute(f"FROM {query}").fetchall() is not None
        assert len(reader.execute("FROM hierarchy_flat('x', 'patients', 'sex')").fetchall()) == 3


def test_read_only_database_keeps_policy(database_path: str) -> None:
    with duckdb.connect(database_path) as writer:
        dbanon.attach(writer)
        dbanon.load_hierarchy(writer, "mine", [["M", "any", "*"], ["F", "any", "*"]])
        dbanon.declare(writer, "patients", age="quasi", sex=("quasi", "mine"), disease="sensitive", rid="person")
        expected = release(writer, "patients", "k=7")
    with duckdb.connect(database_path, read_only=True) as reader:
        dbanon.attach(reader)
        assert release(reader, "patients", "k=7") == expected
        with pytest.raises(duckdb.Error, match="would loosen the policy"):
            release(reader, "patients", "k=7, insensitive='rid'")


def test_writing_to_read_only_policy_raises(database_path: str) -> None:
    with duckdb.connect(database_path, read_only=True) as reader:
        dbanon.attach(reader)
        with pytest.raises((duckdb.Error, dbanon.DbanonError), match=r"read.only"):
            dbanon.declare(reader, "patients", age="quasi")
        with pytest.raises((duckdb.Error, dbanon.DbanonError), match=r"read.only"):
            dbanon.load_hierarchy(reader, "sex")
        assert count(reader, "patients") == 12


def test_read_only_attached_uses_session_hierarchies(con: Any, database_path: str) -> None:
    con.execute(f"ATTACH '{database_path}' AS clinic (READ_ONLY)")
    dbanon.load_hierarchy(con, "mine", [["M", "any", "*"], ["F", "any", "*"]])
    options_text = "k=7, qi=['sex'], hierarchies={'sex': '%s'}"
    assert set(release(con, "clinic.patients", options_text % "mine")) == {("any", 1)}
    con.execute("USE clinic")
    assert set(release(con, "patients", options_text % "memory.mine")) == {("any", 1)}


# --- transactions -------------------------------------------------------------------------------------------


def test_release_reads_rows_of_open_transaction(clinic: Any) -> None:
    dbanon.declare(clinic, "patients", age="quasi", sex="quasi", disease="sensitive")
    old_release = release(clinic, "patients", "k=3")
    clinic.execute("BEGIN")
    clinic.execute("INSERT INTO patients FROM patients")
    assert count(clinic, "patients", "k=3") == 24
    clinic.execute("DELETE FROM patients WHERE rid > 5")
    assert count(clinic, "patients", "k=3") == 12
    clinic.execute("UPDATE patients SET age = 77")
    assert {row[0] for row in release(clinic, "patients", "k=3")} == {"77"}
    clinic.execute("ROLLBACK")
    assert release(clinic, "patients", "k=3") == old_release


def test_release_ignores_rows_of_other_open_transaction(clinic: Any) -> None:
    with clinic.cursor() as other:
        other.execute("BEGIN")
        other.execute("INSERT INTO patients FROM patients")
        assert count(clinic, "patients") == 12
        other.execute("COMMIT")
    assert count(clinic, "patients") == 24


CHANGES = [
    "UPDATE dbanon.policy SET role = 'identifier' WHERE column_name = 'disease'",
    "UPDATE dbanon.policy SET weight = 3 WHERE column_name = 'age'",
    "UPDATE dbanon.policy SET rounding = '5' WHERE column_name = 'age'",
    "UPDATE dbanon.policy SET column_name = 'rid' WHERE column_name = 'disease'",
    "UPDATE dbanon.policy SET table_name = 'other' WHERE column_name = 'disease'",
    "DELETE FROM dbanon.policy",
    "DELETE FROM dbanon.policy WHERE column_name = 'disease'",
    "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('patients', 'rid', 'identifier')",
    "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('main.patients', 'rid', 'person')",
]


@pytest.mark.parametrize("change", CHANGES)
def test_uncommitted_policy_change_must_be_committed(clinic: Any, change: str) -> None:
    dbanon.declare(clinic, "patients", age="quasi", sex="quasi", disease="sensitive")
    expected = release(clinic, "patients", "k=3")
    for function in ("kacpc", "kacpc_classes", "kacpc_metrics") if change == CHANGES[0] else ("kacpc",):
        clinic.execute("BEGIN")
        clinic.execute(change)
        with pytest.raises(duckdb.Error, match=r"policy of patients changed.*commit first"):
            clinic.execute(f"FROM {function}('patients', k=3)").fetchall()
        clinic.execute("ROLLBACK")
    assert release(clinic, "patients", "k=3") == expected


def test_first_policy_applies_in_its_transaction(clinic: Any) -> None:
    clinic.execute("BEGIN")
    clinic.execute(
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('patients', 'disease', 'identifier')"
    )
    with pytest.raises(duckdb.Error, match="commit first"):
        release(clinic, "patients")
    clinic.execute("ROLLBACK")
    assert count(clinic, "patients") == 12


def test_other_table_policy_may_change_in_transaction(clinic: Any) -> None:
    clinic.execute("BEGIN")
    clinic.execute("INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('visits', 'age', 'quasi')")
    assert count(clinic, "patients") == 12
    clinic.execute("ROLLBACK")


def test_policy_committed_elsewhere_in_transaction_applies(clinic: Any) -> None:
    """The transaction sees the old policy and the planner the new one: neither may decide alone."""
    dbanon.declare(clinic, "patients", age="quasi", sex="quasi", disease="sensitive")
    clinic.execute("BEGIN")
    assert count(clinic, "patients", "k=3") == 12
    with clinic.cursor() as other:
        other.execute("DELETE FROM dbanon.policy WHERE column_name = 'disease'")
    with pytest.raises(duckdb.Error, match="policy of patients changed"):
        release(clinic, "patients", "k=3")
    clinic.execute("ROLLBACK")
    assert len(release(clinic, "patients", "k=3")[0]) == 3


def test_uncommitted_hierarchy_rows_apply_to_release(clinic: Any) -> None:
    dbanon.load_hierarchy(clinic, "mine", [["M", "any", "*"], ["F", "any", "*"]])
    dbanon.declare(clinic, "patients", sex=("quasi", "mine"))
    assert set(release(clinic, "patients", "k=7")) == {("any", 1)}
    clinic.execute("BEGIN")
    clinic.execute("UPDATE dbanon.hierarchy SET label = 'anybody' WHERE name = 'mine' AND label = 'any'")
    assert set(release(clinic, "patients", "k=7")) == {("anybody", 1)}
    clinic.execute("DELETE FROM dbanon.hierarchy WHERE label = 'F'")
    with pytest.raises(duckdb.Error, match="1 distinct value is missing from hierarchy 'mine'"):
        release(clinic, "patients", "k=7")
    clinic.execute("ROLLBACK")
    assert set(release(clinic, "patients", "k=7")) == {("any", 1)}


def test_uncommitted_table_refused_with_hint(clinic: Any) -> None:
    clinic.execute("BEGIN")
    clinic.execute("CREATE TABLE fresh AS FROM patients")
    with pytest.raises(duckdb.Error, match=r"no table, view or file 'fresh'.*COMMIT first"):
        release(clinic, "fresh")
    clinic.execute("ROLLBACK")
    clinic.execute("BEGIN")
    clinic.execute("CREATE TABLE fresh AS FROM patients")
    clinic.execute("COMMIT")
    assert count(clinic, "fresh") == 12


def test_column_dropped_in_open_transaction_raises(clinic: Any) -> None:
    clinic.execute("BEGIN")
    clinic.execute("ALTER TABLE patients DROP COLUMN disease")
    with pytest.raises(duckdb.Error, match="disease"):
        release(clinic, "patients")
    clinic.execute("ROLLBACK")
    assert count(clinic, "patients") == 12


# --- temporary relations ------------------------------------------------------------------------------------

MAKE_TEMPORARY = {
    "table": "CREATE TEMP TABLE {name} AS FROM memory.main.patients LIMIT 5",
    "view": "CREATE TEMP VIEW {name} AS FROM memory.main.patients LIMIT 5",
}


def make_temporary(connection: Any, kind: str, name: str) -> None:
    """Create a temporary relation of five rows."""
    if kind == "frame":
        connection.register(name, connection.execute("FROM memory.main.patients LIMIT 5").df())
    else:
        connection.execute(MAKE_TEMPORARY[kind].format(name=name))


@pytest.mark.parametrize("kind", ["table", "view", "frame"])
def test_temporary_source_on_plain_connection_gives_hint(clinic: Any, kind: str) -> None:
    make_temporary(clinic, kind, "brief")
    for source in ("brief", '"brief"', "temp.brief", "temp.main.brief"):
        with pytest.raises(duckdb.Error, match=r"dbanon\.connect.*CREATE TABLE \.\.\. AS FROM.*dbanon\.anonymize"):
            release(clinic, source)
    clinic.execute("CREATE TABLE kept AS FROM brief")
    assert count(clinic, "kept") == 5


def test_dataframe_on_plain_connection_gives_hint(clinic: Any) -> None:
    people = clinic.execute("FROM patients").df()
    assert len(clinic.execute("FROM people").fetchall()) == len(people)
    with pytest.raises(duckdb.Error, match=r"registered DataFrames.*dbanon\.connect.*dbanon\.anonymize"):
        clinic.execute(f"FROM kacpc('people', {ROLES})")


@pytest.mark.parametrize("kind", ["table", "view", "frame"])
def test_temporary_relation_shadowing_stored_one_raises(clinic: Any, kind: str) -> None:
    make_temporary(clinic, kind, "patients")
    for source in ("patients", '"patients"', "PATIENTS"):
        with pytest.raises(duckdb.Error, match=r"also names a temporary table.*memory.*main.*patients"):
            release(clinic, source)
    assert count(clinic, "memory.main.patients") == 12
    clinic.execute(f"DROP {'TABLE' if kind == 'table' else 'VIEW'} temp.patients")
    assert count(clinic, "patients") == 12


def test_qualified_temporary_table_raises(clinic: Any) -> None:
    make_temporary(clinic, "table", "patients")
    assert one_value(clinic, "SELECT count(*) FROM main.patients") == 5
    with pytest.raises(duckdb.Error, match="also names a temporary table"):
        release(clinic, "main.patients")


def test_temporary_table_ignores_other_schema(clinic: Any) -> None:
    clinic.execute("CREATE SCHEMA ward")
    clinic.execute("CREATE TABLE ward.brief AS FROM patients LIMIT 7")
    make_temporary(clinic, "table", "brief")
    assert count(clinic, "ward.brief") == 7


# --- dbanon.connect -----------------------------------------------------------------------------------------


@pytest.fixture
def dbanon_con() -> Any:
    """Provide a connection of dbanon.connect with the table `patients`."""
    with dbanon.connect() as connection:
        connection.execute(f"CREATE TABLE patients AS {ROWS}")
        yield connection


@pytest.mark.parametrize("kind", ["table", "view", "frame"])
def test_dbanon_connect_accepts_temporary_relations(dbanon_con: Any, kind: str) -> None:
    make_temporary(dbanon_con, kind, "brief")
    assert count(dbanon_con, "brief") == count(dbanon_con, '"brief"') == count(dbanon_con, "BRIEF") == 5
    assert len(dbanon_con.sql(f"FROM kacpc('brief', {ROLES})").fetchall()) == 5
    assert len(dbanon_con.execute("FROM kacpc('brief', k=?, qi=['age'])", [4]).fetchall()) == 5
    for call_text in ("uncovered_values('brief', 'sex', hierarchy='sex')", "hierarchy_flat('x', 'brief', 'sex')"):
        dbanon_con.execute(f"FROM {call_text}").fetchall()


@pytest.mark.parametrize("kind", ["table", "view", "frame"])
def test_temporary_relation_precedes_and_keeps_policy(dbanon_con: Any, kind: str) -> None:
    dbanon.declare(dbanon_con, "patients", age="quasi", disease="identifier")
    make_temporary(dbanon_con, kind, "patients")
    assert one_value(dbanon_con, "SELECT count(*) FROM patients") == 5
    assert count(dbanon_con, "patients", "k=3") == 5
    assert count(dbanon_con, "memory.main.patients", "k=3") == 12
    with pytest.raises((duckdb.Error, dbanon.DbanonError), match="would loosen the policy"):
        release(dbanon_con, "patients", "k=3, sensitive=['disease']")


def test_odd_temporary_table_names_accepted(dbanon_con: Any) -> None:
    for name in ('od"d na.me', "x'); DROP TABLE patients; --", "🙂"):
        dbanon_con.execute(f"CREATE TEMP TABLE {quoted(name)} AS FROM memory.main.patients LIMIT 6")
        assert count(dbanon_con, quoted(name)) == 6
    assert count(dbanon_con, "patients") == 12


def test_uncommitted_temporary_table_accepted_as_source(dbanon_con: Any) -> None:
    dbanon_con.execute("BEGIN")
    dbanon_con.execute("CREATE TEMP TABLE brief AS FROM patients LIMIT 4")
    assert count(dbanon_con, "brief") == 4
    dbanon_con.execute("ROLLBACK")
    with pytest.raises(duckdb.Error, match="no table, view or file 'brief'"):
        release(dbanon_con, "brief")


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
def test_dbanon_connect_accepts_local_dataframes(dbanon_con: Any, library: str) -> None:
    rows = dbanon_con.sql("FROM patients")
    people = rows.df() if library == "pandas" else rows.to_arrow_table()
    expected = release(dbanon_con, "patients")
    assert dbanon_con.execute(f"FROM kacpc('people', {ROLES})").fetchall() == expected
    assert dbanon_con.sql(f"FROM kacpc('people', {ROLES})").fetchall() == expected
    assert dbanon_con.query(f"FROM kacpc('people', {ROLES})").fetchall() == expected
    people = people[:5] if library == "pandas" else people.slice(0, 5)
    assert len(dbanon_con.execute(f"FROM kacpc('people', {ROLES})").fetchall()) == len(people) == 5

    def elsewhere() -> int:
        people = dbanon_con.execute("FROM patients LIMIT 6").df()
        return len(dbanon_con.execute(f"FROM kacpc('people', {ROLES})").fetchall()) if len(people) else 0

    assert elsewhere() == 6


def test_stored_table_precedes_local_dataframe(dbanon_con: Any) -> None:
    patients = dbanon_con.execute("FROM patients LIMIT 5").df()
    assert len(dbanon_con.execute("FROM patients").fetchall()) == 12 != len(patients)
    assert len(dbanon_con.execute(f"FROM kacpc('patients', {ROLES})").fetchall()) == 12


@pytest.mark.parametrize("kind", ["view", "frame"])
def test_registered_name_precedes_local_dataframe(dbanon_con: Any, kind: str) -> None:
    make_temporary(dbanon_con, kind, "people")
    people = dbanon_con.execute("FROM patients LIMIT 7").df()
    assert len(dbanon_con.execute("FROM people").fetchall()) == 5 != len(people)
    assert len(dbanon_con.execute(f"FROM kacpc('people', {ROLES})").fetchall()) == 5
    assert len(dbanon_con.execute("FROM people").fetchall()) == 5


def test_dataframe_uses_policy_of_variable_name(dbanon_con: Any) -> None:
    dbanon_con.execute(
        "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES "
        "('people', 'age', 'quasi'), ('people', 'disease', 'sensitive'), ('people', 'rid', 'identifier')"
    )
    people = dbanon_con.execute("FROM patients").df()
    result = dbanon_con.execute("FROM kacpc('people', k=3)")
    assert [c[0] for c in result.description] == ["age", "disease", "class_id"]
    assert len(result.fetchall()) == len(people)
    with pytest.raises((duckdb.Error, dbanon.DbanonError), match="would loosen the policy"):
        dbanon_con.execute("FROM kacpc('people', k=3, insensitive=['rid'])")


def test_cursors_keep_own_temporary_tables(dbanon_con: Any) -> None:
    make_temporary(dbanon_con, "table", "brief")
    with dbanon_con.cursor() as cursor:
        with pytest.raises(duckdb.Error, match="no table, view or file 'brief'"):
            release(cursor, "brief")
        cursor.execute("CREATE TEMP TABLE brief AS FROM memory.main.patients LIMIT 8")
        assert count(cursor, "brief") == 8
    assert count(dbanon_con, "brief") == 5


@pytest.mark.not_everyday
def test_cursor_threads_read_own_frames(dbanon_con: Any) -> None:
    sizes: dict[int, int] = {}

    def work(size: int) -> None:
        with dbanon_con.cursor() as cursor:
            mine = cursor.execute(f"FROM patients LIMIT {size}").df()
            sizes[size] = len(cursor.execute(f"FROM kacpc('mine', {ROLES})").fetchall()) if len(mine) == size else -1

    threads = [threading.Thread(target=work, args=(size,)) for size in (4, 6, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sizes == {4: 4, 6: 6, 8: 8}


# --- dbanon.anonymize ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("library", ["pandas", "pyarrow"])
@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])
def test_anonymize_gives_release_classes_and_metrics(shared_clinic: Any, library: str, algorithm: str) -> None:
    relation = shared_clinic.sql("FROM patients")
    relation = relation.df() if library == "pandas" else relation.to_arrow_table()
    result = dbanon.anonymize(relation, algorithm, k=3, qi=["age", "sex"], sensitive=["disease"])
    assert isinstance(result, dbanon.Anonymized)
    for frame, ending in zip(result, ("", "_classes", "_metrics"), strict=True):
        expected = shared_clinic.execute(f"FROM {algorithm}{ending}('patients', {ROLES})").df()
        frame = frame if library == "pandas" else frame.to_pandas()
        assert list(frame) == list(expected)
        assert frame.astype(str).equals(expected.astype(str))
    release, classes, metrics = result if library == "pandas" else [table.to_pandas() for table in result]
    assert len(release) == classes["size"].sum() == 12
    assert release.groupby("class_id").size().min() >= 3
    assert float(metrics.set_index("metric").loc["records", "value"]) == 12


@pytest.mark.not_everyday
def test_anonymize_accepts_python_values_and_hierarchy_rows(shared_clinic: Any) -> None:
    frame = shared_clinic.sql("FROM patients").df()
    rows = [["M", "any", "*"], ["F", "any", "*"]]
    for hierarchy in (rows, "M;any;*\nF;any;*", tuple(map(tuple, rows))):
        with pytest.warns(dbanon.UtilityWarning, match="all 12 records are in one class"):
            result = dbanon.anonymize(
                frame,
                k=7,
                qi=["sex"],
                hierarchies={"sex": hierarchy},
                weights={"sex": 2},
                escape_labels=False,
                person="rid",
            )
        assert set(result.release["sex"]) == {"any"}
    result = dbanon.anonymize(frame, k=3, qi=("age",), intervals="bounds", nulls="error")
    assert list(result.release) == ["age_min", "age_max", "class_id"]


@pytest.mark.not_everyday
def test_anonymize_with_invalid_arguments_raises(shared_clinic: Any) -> None:
    frame = shared_clinic.sql("FROM patients").df()
    mistakes: list[tuple[dict[str, Any], str]] = [
        ({"qi": ["age"]}, "k is missing"),
        ({"k": 1, "qi": ["age"]}, "k must be an integer of at least 2, got 1"),
        ({"k": 13, "qi": ["age"]}, "k must be between 2 and 12"),
        ({"k": 3}, "no quasi-identifier"),
        ({"k": 3, "qi": ["nope"]}, "no column 'nope'"),
        ({"k": 3, "qi": ["sex"], "hierarchies": {"sex": [["M", "*"]]}}, "missing from hierarchy"),
        ({"k": 3, "qi": ["sex"], "hierarchies": {"sex": "nope"}}, "no hierarchy 'nope'"),
        ({"kk": 3, "qi": ["age"]}, "no parameter 'kk'"),
    ]
    for arguments, message in mistakes:
        with pytest.raises((duckdb.Error, dbanon.DbanonError), match=message):
            dbanon.anonymize(frame, "kacpc", **arguments)
    with pytest.raises(dbanon.DbanonError, match="no algorithm 'kacp'"):
        dbanon.anonymize(frame, "kacp", k=3, qi=["age"])


@pytest.mark.parametrize("name", ["a b", "k := 3) --", "x'); DROP TABLE y; --", 'q"'])
def test_anonymize_never_executes_parameter_name(shared_clinic: Any, name: str) -> None:
    frame = shared_clinic.sql("FROM patients").df()
    with pytest.raises(dbanon.DbanonError, match="there is no parameter"):
        dbanon.anonymize(frame, "kacpc", k=3, qi=["age"], **{name: 3})


def test_anonymize_does_not_modify_dataframe(shared_clinic: Any) -> None:
    frame = shared_clinic.sql("FROM patients").df()
    old_copy = frame.copy()
    dbanon.anonymize(frame, k=3, qi=["age", "sex"], sensitive=["disease"])
    assert frame.equals(old_copy)


# --- invalid sources ----------------------------------------------------------------------------------------

REFUSED = [
    "(select 1)", "(FROM patients)", "SELECT * FROM patients", "FROM patients", "patients; drop table patients",
    "patients AS x", "patients, patients", "patients WHERE true", "patients--", "patients -- x", "range(10)",
    "read_csv('x.csv')", "read_parquet('x.parquet')", "glob('*')", "duckdb_tables()", "kacpc('patients', k=3)",
    "query('SELECT 1')", "values (1)", "'patients'", '"patients', 'patients"', '""', '"patients".', ".patients",
    "main..patients", "a.b.c.d", "", " ", " patients", "patients ", "patients\x01", "patients\n",
    "patients JOIN patients", "patients TABLESAMPLE 10%", "(patients)", "{'a': 1}", "[1]", "1", "1 + 1", "$1",
]  # fmt: skip


@pytest.mark.parametrize("source", REFUSED)
def test_invalid_name_refused(shared_clinic: Any, source: str) -> None:
    for function in ("kacpc", "mondrian_metrics"):
        with pytest.raises(duckdb.Error, match="is not the name of a table, a view or a file"):
            shared_clinic.execute(f"FROM {function}({literal(source)}, {ROLES})")
    assert one_value(shared_clinic, "SELECT count(*) FROM patients") == 12


@pytest.mark.parametrize("source", ["NULL", "5", "2.5", "true", "['patients']", "{'a': 'patients'}"])
def test_non_text_source_refused(shared_clinic: Any, source: str) -> None:
    with pytest.raises(duckdb.Error, match=r"tbl (is missing|must be a text)"):
        shared_clinic.execute(f"FROM kacpc({source}, {ROLES})")
    assert one_value(shared_clinic, "SELECT count(*) FROM patients") == 12


@pytest.mark.parametrize("call", ["uncovered_values({}, 'age')", "hierarchy_flat('x', {}, 'age')"])
@pytest.mark.parametrize("source", ["(select 1 AS age)", "patients; drop table patients", "range(10)", "nothing"])
def test_helper_functions_refuse_source_that_is_no_table(shared_clinic: Any, call: str, source: str) -> None:
    with pytest.raises(duckdb.Error, match=r"is not the name of a table|no table, view or file"):
        shared_clinic.execute(f"FROM {call.format(literal(source))}")
    assert one_value(shared_clinic, "SELECT count(*) FROM patients") == 12


@pytest.mark.parametrize("source", ["sqlite_master", "duckdb_tables", "information_schema.tables", "nothing", "a.b.c"])
def test_system_and_unknown_tables_refused_as_source(shared_clinic: Any, source: str) -> None:
    with pytest.raises(duckdb.Error, match="no table, view or file"):
        release(shared_clinic, source)


def test_misspelled_source_error_suggests_name(clinic: Any) -> None:
    with pytest.raises(duckdb.Error, match=r"Did you mean 'patients'\?"):
        release(clinic, "patient")


def test_source_error_never_suggests_given_name(clinic: Any) -> None:
    clinic.execute("CREATE SCHEMA ward")
    clinic.execute("CREATE TABLE ward.visits AS FROM patients")
    with pytest.raises(duckdb.Error) as error:
        release(clinic, "visits")
    assert "Did you mean 'visits'?" not in str(error.value)


def test_rows_by_column_are_dictionaries_in_order(con: Any) -> None:
    result = con.execute("SELECT i AS a, i * 2 AS b FROM range(3) AS r (i) ORDER BY i")
    assert catalog.rows_by_column(result) == [{"a": 0, "b": 0}, {"a": 1, "b": 2}, {"a": 2, "b": 4}]
    assert catalog.rows_by_column(con.execute("SELECT 1 AS a WHERE false")) == []


def test_display_name_omits_schema_main() -> None:
    assert [names.display_name(schema, "patients") for schema in ("main", "ward")] == ["patients", "ward.patients"]


def test_current_rows_have_new_names_in_order() -> None:
    with duckdb.connect() as con:
        assert earlier_schema.current_rows(con, "memory", "permission", "true", (), "source") == []
        con.execute("CREATE SCHEMA dbanon; CREATE TABLE dbanon.permission (source VARCHAR, most INTEGER)")
        con.execute("INSERT INTO dbanon.permission VALUES ('c', 3), ('a', 1), ('b', 2)")
        rows = earlier_schema.current_rows(con, "memory", "permission", "source <> ?", ["b"], "source DESC")
        assert rows == [{"source": "c", "max_requests": 3}, {"source": "a", "max_requests": 1}]
        rows = earlier_schema.current_rows(con, "memory", "permission", "true", (), "source ASC", "most")
        assert rows == [{"max_requests": 1}, {"max_requests": 2}, {"max_requests": 3}]
