"""The policy that applies to a source, for every kind of source and location of the call."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.errors.warnings import PolicyWarning
from dbanon.source.governed_tables import governed_tables

ASK = "k=5, qi=['age'], sensitive=['name']"


def attached_con() -> Any:
    """Provide a plain DuckDB connection with the table functions attached."""
    return dbanon.attach(duckdb.connect())


@pytest.fixture(params=[dbanon.connect, attached_con], ids=["connect", "attach"])
def clinic(request: pytest.FixtureRequest) -> Iterator[Any]:
    """Create patients with a policy, and a table `t` of other people without one."""
    con = request.param()
    con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 + i % 5 AS age FROM range(60) t(i)")
    dbanon.declare(con, "patients", name="identifier", age="quasi")
    con.execute("CREATE TABLE t AS SELECT 'x' || i % 2 AS name, 30 + i % 2 AS age FROM range(20) t(i)")
    yield con
    con.close()


def released_rows(con: Any, source: str) -> list[Any]:
    quoted = source.replace("'", "''")
    return list(con.execute(f"FROM mondrian('{quoted}', {ASK})").fetchall())


DERIVED = {
    "view": ("CREATE VIEW v AS FROM patients", "v"),
    "view of a view": ("CREATE VIEW w AS FROM patients; CREATE VIEW v AS FROM w", "v"),
    "query_table of a list": ("CREATE VIEW v AS FROM query_table(['patients'])", "v"),
    "query_table of two tables": ("CREATE VIEW v AS FROM query_table(['t', 'patients'])", "v"),
    "query": ("CREATE VIEW v AS FROM query('FROM ' || 'patients')", "v"),
    "macro with the name of a table": (
        "CREATE MACRO m(x) AS TABLE FROM query_table(x); CREATE VIEW v AS FROM m('patients')",
        "v",
    ),
    "macro that joins parts of a name": (
        "CREATE MACRO m(x) AS TABLE FROM query_table('pat' || x); CREATE VIEW v AS FROM m('ients')",
        "v",
    ),
    "scalar macro with a subquery": (
        "CREATE MACRO m() AS (SELECT max(name) FROM patients); CREATE VIEW v AS SELECT m() AS name, age FROM t",
        "v",
    ),
    "table macro in another schema": (
        "CREATE SCHEMA s; CREATE MACRO s.m() AS TABLE FROM main.patients; CREATE VIEW v AS FROM s.m()",
        "v",
    ),
    "quoted name": ('CREATE VIEW "a.b" AS FROM patients', '"a.b"'),
    "union": ("CREATE VIEW v AS FROM t UNION ALL FROM patients", "v"),
    "subquery that is never read": ("CREATE VIEW v AS FROM t WHERE false AND age IN (SELECT age FROM patients)", "v"),
    "common table expression": ("CREATE VIEW v AS WITH p AS (FROM patients) FROM p", "v"),
    "recursion": (
        "CREATE VIEW v AS WITH RECURSIVE r AS (FROM patients UNION ALL SELECT name, age + 1 FROM r WHERE age < 22) "
        "FROM r",
        "v",
    ),
    "lateral join": ("CREATE VIEW v AS SELECT p.* FROM range(1) r(i), LATERAL (FROM patients) AS p", "v"),
    "pivoted": ("CREATE VIEW v AS SELECT * FROM (UNPIVOT patients ON name INTO NAME x VALUE name)", "v"),
    "other database": ("ATTACH ':memory:' AS o; CREATE VIEW o.v AS FROM memory.main.patients", "o.main.v"),
    "view that has a policy": (
        "CREATE VIEW w AS FROM t; INSERT INTO dbanon.policy (table_name, column_name, role) "
        "VALUES ('w', 'name', 'identifier'); CREATE VIEW v AS FROM w",
        "v",
    ),
}


@pytest.mark.parametrize("case", DERIVED)
def test_derived_source_without_policy_is_refused(clinic: Any, case: str) -> None:
    setup, source = DERIVED[case]
    clinic.execute(setup)
    with pytest.raises(duckdb.Error, match="has no policy of its own and reads"):
        released_rows(clinic, source)


SESSION_CHANGES = {
    "temporary view in place of a table": ("CREATE TEMP VIEW t AS FROM patients", "v"),
    "temporary table in place of a table": ("CREATE TEMP TABLE t AS FROM patients", "v"),
    "temporary macro in place of a macro": ("CREATE TEMP MACRO m() AS TABLE FROM patients", "w"),
    "temporary macro in place of a function": ("CREATE TEMP MACRO upper(x) AS (SELECT max(name) FROM patients)", "u"),
    "view replaced in the transaction": ("BEGIN; CREATE OR REPLACE VIEW v AS FROM patients", "v"),
    "inner view replaced in the transaction": ("BEGIN; CREATE OR REPLACE VIEW v AS FROM patients", "vv"),
    "macro replaced in the transaction": ("BEGIN; CREATE OR REPLACE MACRO m() AS TABLE FROM patients", "w"),
    "tables renamed in the transaction": (
        "BEGIN; ALTER TABLE t RENAME TO t3; ALTER TABLE patients RENAME TO t",
        "t",
    ),
    "tables renamed in the transaction, by a view": (
        "BEGIN; ALTER TABLE t RENAME TO t3; ALTER TABLE patients RENAME TO t",
        "v",
    ),
    "columns renamed in the transaction": (
        "BEGIN; ALTER TABLE d RENAME name TO x; ALTER TABLE d RENAME dx TO name; ALTER TABLE d RENAME x TO dx",
        "d",
    ),
}


@pytest.mark.parametrize("case", SESSION_CHANGES)
def test_source_with_uncommitted_changes_refused(clinic: Any, case: str) -> None:
    clinic.execute("CREATE VIEW v AS FROM t; CREATE VIEW vv AS FROM v; CREATE MACRO m() AS TABLE FROM t")
    clinic.execute("CREATE VIEW w AS FROM m(); CREATE VIEW u AS SELECT upper(name) AS name, age FROM t")
    clinic.execute("CREATE TABLE d AS SELECT name, age, name AS dx FROM t")
    for source in ("v", "vv", "w", "u", "t", "d"):
        assert len(released_rows(clinic, source)) == 20
    setup, source = SESSION_CHANGES[case]
    clinic.execute(setup)
    with pytest.raises(duckdb.Error, match="are not those that are committed"):
        released_rows(clinic, source)


def test_old_snapshot_of_renamed_columns_is_refused(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "c.duckdb") as con, dbanon.connect(tmp_path / "c.duckdb") as other:
        con.execute("CREATE TABLE t AS SELECT 'x' || i % 2 AS name, 'secret' || i AS dx, 30 AS age FROM range(20) t(i)")
        dbanon.declare(con, "t", name="sensitive", age="quasi", dx="identifier")
        other.execute("BEGIN; FROM t")
        con.execute("ALTER TABLE t RENAME name TO x; ALTER TABLE t RENAME dx TO name; ALTER TABLE t RENAME x TO dx")
        with pytest.raises(duckdb.Error, match="are not those that are committed"):
            other.execute("FROM mondrian('t', k=5)").fetchall()


LOCAL: dict[str, Callable[[Any], object]] = {
    "temporary view": lambda con: con.execute("CREATE TEMP VIEW v AS FROM patients"),
    "temporary view of a temporary macro": lambda con: con.execute(
        "CREATE TEMP MACRO n() AS TABLE FROM patients; CREATE TEMP VIEW v AS FROM n()"
    ),
    "registered relation": lambda con: con.register("v", con.raw.table("patients")),
    "registered relation of a query": lambda con: con.register("v", con.raw.sql("SELECT age, name FROM patients")),
    "view of a relation": lambda con: con.raw.table("patients").create_view("v"),
    "table renamed in the transaction": lambda con: con.execute(
        "BEGIN; ALTER TABLE patients RENAME TO p2; CREATE TEMP VIEW v AS FROM p2"
    ),
}


@pytest.mark.parametrize("case", LOCAL)
def test_local_relation_over_policy_is_refused(case: str) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 + i % 5 AS age FROM range(60) t(i)")
        dbanon.declare(con, "patients", name="identifier", age="quasi")
        LOCAL[case](con)
        with pytest.raises(duckdb.Error, match=r"has no policy of its own|are not those that are committed"):
            released_rows(con, "v")


def test_view_names_resolved_on_search_path_of_caller(clinic: Any) -> None:
    clinic.execute("ATTACH ':memory:' AS o; CREATE TABLE o.q AS FROM t; CREATE TABLE q AS FROM t; CREATE SCHEMA s")
    clinic.execute("CREATE VIEW s.v AS FROM q; USE o")
    dbanon.declare(clinic, "o.q", name="identifier", age="quasi")
    with pytest.raises(duckdb.Error, match=r"memory\.s\.v has no policy of its own and reads o\.main\.q"):
        released_rows(clinic, "memory.s.v")


CONTROLS = {
    "table": ("SELECT 1", "t"),
    "view": ("CREATE VIEW v AS SELECT upper(name) AS name, age FROM t", "v"),
    "view with joined literals": ("CREATE VIEW v AS FROM query_table(['t', 't'])", "v"),
    "macro": ("CREATE MACRO m(x) AS TABLE FROM query_table(x); CREATE VIEW v AS FROM m('t')", "v"),
    "word in a literal": ("CREATE VIEW v AS SELECT 'patients' AS name, age FROM t", "v"),
    "table of the same name": ("CREATE SCHEMA s; CREATE TABLE s.patients AS FROM t", "s.patients"),
    "view of a table of the same name": (
        "CREATE SCHEMA s; CREATE TABLE s.patients AS FROM t; CREATE VIEW v AS FROM s.patients",
        "v",
    ),
    "name that only Python lowers": ('CREATE TABLE "ΠΕΛΑΤΕΣ" AS FROM t', '"ΠΕΛΑΤΕΣ"'),
    "open transaction": ("BEGIN; INSERT INTO t VALUES ('x1', 31)", "t"),
    "view in an open transaction": ("CREATE VIEW v AS FROM t; BEGIN; INSERT INTO t VALUES ('x1', 31)", "v"),
    "other temporary objects": ("CREATE VIEW v AS FROM t; CREATE TEMP TABLE other AS FROM t", "v"),
}


@pytest.mark.parametrize("case", CONTROLS)
def test_source_that_reads_no_policy_is_released(clinic: Any, case: str) -> None:
    setup, source = CONTROLS[case]
    clinic.execute(setup)
    assert released_rows(clinic, source)


def test_view_with_its_own_policy_is_released(clinic: Any) -> None:
    clinic.execute("CREATE VIEW v AS SELECT age FROM patients")
    dbanon.declare(clinic, "v", age="quasi")
    assert len(clinic.execute("FROM mondrian('v', k=5)").fetchall()) == 60


def test_view_of_release_is_source_next_to_policies(clinic: Any) -> None:
    clinic.execute("CREATE VIEW safe AS FROM kacpc('t', k=5, qi=['age'], sensitive=['name'])")
    assert len(clinic.execute("FROM mondrian('safe', k=5, qi=['name'])").fetchall()) == 20


@pytest.mark.parametrize("name", ["ΠΕΛΑΤΕΣ", "KİŞİLER", "Straße", "Ünal"])
def test_policy_found_for_non_ascii_table_names(name: str) -> None:
    """DuckDB's catalog ignores case for ASCII letters only."""
    with dbanon.connect() as con:
        con.execute(f'CREATE TABLE "{name}" AS SELECT \'N\' || i AS "{name}", 20 + i % 5 AS age FROM range(60) t(i)')
        dbanon.declare(con, f'"{name}"', **{name: "identifier", "age": "quasi"})
        with pytest.raises(duckdb.Error, match="would loosen the policy"):
            con.execute(f"FROM mondrian('\"{name}\"', k=5, sensitive=['{name}'])")
        assert len(con.execute(f"FROM mondrian('\"{name}\"', k=5)").fetchall()) == 60


def test_tables_differing_by_letter_case_have_own_policy() -> None:
    with dbanon.connect() as con:
        for name in ("ΠΕΛ", "πελ"):
            con.execute(f"CREATE TABLE \"{name}\" AS SELECT 'N' || i % 2 AS name, 20 AS age FROM range(60) t(i)")
        dbanon.declare(con, '"ΠΕΛ"', name="identifier", age="quasi")
        dbanon.declare(con, '"πελ"', name="sensitive", age="quasi")
        assert len(con.execute("FROM mondrian('\"πελ\"', k=5)").description) == 3
        assert len(con.execute("FROM mondrian('\"ΠΕΛ\"', k=5)").description) == 2


UNMATCHED = {
    "renamed table": "ALTER TABLE patients RENAME TO p",
    "renamed table and column": "ALTER TABLE patients RENAME TO p; ALTER TABLE p RENAME ward TO station",
    "blank behind the name": "UPDATE dbanon.policy SET table_name = 'patients '; ALTER TABLE patients RENAME TO p",
    "blank before the name": "UPDATE dbanon.policy SET table_name = ' p'; ALTER TABLE patients RENAME TO p",
    "empty schema": "UPDATE dbanon.policy SET schema_name = '', table_name = 'p'; ALTER TABLE patients RENAME TO p",
    "other schema": "UPDATE dbanon.policy SET schema_name = 'x', table_name = 'p'; ALTER TABLE patients RENAME TO p",
    "other database": "UPDATE dbanon.policy SET table_name = 'clinic.main.p'; ALTER TABLE patients RENAME TO p",
}


@pytest.mark.parametrize("case", UNMATCHED)
def test_unmatched_policy_rows_refuse_similar_table(con: Any, case: str) -> None:
    con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 AS age, 'w' AS ward FROM range(60) t(i)")
    dbanon.declare(con, "patients", name="identifier", age="quasi", ward="insensitive")
    con.execute(UNMATCHED[case])
    message = r"match no table, and most of their columns are columns of memory\.main\.p"
    with pytest.raises(duckdb.Error, match=message) as error_info:
        con.execute(f"FROM mondrian('p', {ASK})")
    assert "UPDATE dbanon.policy SET" in str(error_info.value)


@pytest.mark.parametrize(
    "setup", ["CREATE VIEW v AS SELECT name AS a, age AS b FROM p", "CREATE TEMP VIEW v AS FROM p"]
)
def test_unmatched_policy_rows_refuse_view_of_renamed_table(setup: str) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 AS age FROM range(60) t(i)")
        dbanon.declare(con, "patients", name="identifier", age="quasi")
        con.execute(f"ALTER TABLE patients RENAME TO p; {setup}")
        column, other = ("b", "a") if "AS b" in setup else ("age", "name")
        with pytest.raises(duckdb.Error, match=r"most of their columns are columns of memory\.main\.p"):
            con.execute(f"FROM mondrian('v', k=5, qi=['{column}'], sensitive=['{other}'])")


def test_unmatched_policy_rows_accept_file_and_frame_copies(tmp_path: Path) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE patients AS SELECT 'N' || i % 2 AS name, 20 AS age FROM range(60) t(i)")
        dbanon.declare(con, "patients", name="identifier", age="quasi")
        con.execute(f"COPY patients TO '{tmp_path / 'p.csv'}'")
        frame = con.execute("FROM patients").df()
        con.execute("DROP TABLE patients")
        con.register("frame", frame)
        for source in (str(tmp_path / "p.csv"), "frame"):
            assert len(released_rows(con, source)) == 60


def test_unmatched_policy_rows_warn_other_calls(con: Any) -> None:
    con.execute("CREATE TABLE gone AS SELECT 1 AS id, 2 AS visited, 3 AS paid")
    dbanon.declare(con, "gone", id="identifier", visited="quasi", paid="sensitive")
    con.execute("DROP TABLE gone; CREATE TABLE t AS SELECT i % 2 AS name, 30 AS age, i AS id FROM range(20) t(i)")
    with pytest.warns(PolicyWarning, match=r"'gone' match no table, and memory\.main\.t has no policy"):
        assert released_rows(con, "t")
    con.execute("DELETE FROM dbanon.policy")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert released_rows(con, "t")


def test_unmatched_policy_hint_is_repairing_statement(con: Any) -> None:
    con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 AS age FROM range(60) t(i)")
    dbanon.declare(con, "patients", name="identifier", age="quasi")
    con.execute('ALTER TABLE patients RENAME TO "o\'d"')
    with pytest.raises(duckdb.Error, match="match no table") as error_info:
        con.execute("FROM mondrian('\"o''d\"', k=5, qi=['age'])")
    con.execute(str(error_info.value).split("if they are about")[1].partition(", ")[2].split("; otherwise")[0])
    with pytest.raises(duckdb.Error, match="would loosen the policy"):
        con.execute("FROM mondrian('\"o''d\"', k=5, qi=['age'], sensitive=['name'])")


def test_view_reading_database_as_file_refused(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        con.execute("CREATE TABLE patients AS SELECT 'N' || i AS name, 20 AS age FROM range(60) t(i)")
        dbanon.declare(con, "patients", name="identifier", age="quasi")
    with dbanon.connect() as con:
        try:
            con.execute(f"CREATE VIEW v AS FROM read_duckdb('{tmp_path / 'c.duckdb'}', table_name := 'patients')")
        except duckdb.CatalogException:
            pytest.skip("this DuckDB has no function read_duckdb")
        with pytest.raises(duckdb.Error, match="reads a DuckDB database as a file"):
            released_rows(con, "v")


@pytest.mark.parametrize(
    "setup",
    [
        "CREATE TEMP TABLE x AS FROM t; CREATE VIEW v AS FROM x",
        "CREATE TEMP MACRO m() AS TABLE FROM patients; CREATE VIEW v AS FROM m()",
    ],
)
def test_stored_view_of_temporary_objects_is_refused(clinic: Any, setup: str) -> None:
    clinic.execute(setup)
    with pytest.raises(duckdb.Error, match=r"which policy applies cannot be determined|has no policy of its own"):
        released_rows(clinic, "v")


def test_session_hierarchy_never_replaces_policy_hierarchy(tmp_path: Path) -> None:
    fine_values = [[sex, f"{sex}!", "*"] for sex in ("F", "M")]
    with dbanon.connect(tmp_path / "c.duckdb") as con:
        con.execute("CREATE TABLE p AS SELECT ['F', 'M'][1 + i % 2] AS sex FROM range(60) t(i)")
        dbanon.load_hierarchy(con, "sexes", [["F", "*"], ["M", "*"]])
        dbanon.declare(con, "p", sex={"role": "quasi", "hierarchy": "sexes", "min_level": 1})
        con.execute("INSERT INTO dbanon.policy (table_name, column_name, role, hierarchy, min_level) "
                    "SELECT 'q', 'sex', 'quasi', 'sex', 1; CREATE TABLE q AS FROM p")  # fmt: skip
    with dbanon.connect() as con:
        con.execute(f"ATTACH '{tmp_path / 'c.duckdb'}' AS clinic")
        for name in ("sexes", "sex"):
            dbanon.load_hierarchy(con, name, fine_values)
        assert set(con.execute("SELECT sex FROM mondrian('clinic.p', k=5)").fetchall()) == {("*",)}
        con.execute("DELETE FROM clinic.dbanon.hierarchy")
        with pytest.raises(duckdb.Error, match="sexes"):
            con.execute("SELECT sex FROM mondrian('clinic.p', k=5)")
        assert "F!" not in {sex for (sex,) in con.execute("SELECT sex FROM mondrian('clinic.q', k=5)").fetchall()}


def test_governed_tables_lists_policy_tables_of_query(clinic: Any) -> None:
    raw = getattr(clinic, "raw", clinic)
    clinic.execute("CREATE VIEW v AS FROM patients; CREATE TEMP VIEW w AS FROM v; CREATE MACRO m() AS TABLE FROM w")
    for query in ("FROM v", "FROM w", "FROM m()", "SELECT 1 WHERE EXISTS (FROM patients)", "FROM query_table(['v'])"):
        assert governed_tables(raw, query, "kacpc") == ["memory.main.patients"]
    assert governed_tables(raw, "SELECT * FROM t WHERE age > ?", "kacpc", [30]) == []
    dbanon.declare(clinic, "v", name="identifier", age="quasi")
    assert governed_tables(raw, "FROM w", "kacpc") == ["memory.main.v", "memory.main.patients"]
    old_rows = clinic.execute("SELECT current_setting('explain_output')").fetchall()
    assert old_rows == duckdb.connect().execute("SELECT current_setting('explain_output')").fetchall()
