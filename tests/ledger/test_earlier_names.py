"""Databases, statements and policies with the names of earlier versions (see dbanon/errors/renamed_names.py)."""

from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.errors.renamed_errors import RENAMED_ERRORS
from dbanon.ledger import earlier_names
from dbanon.release.plan import metrics

EXPORTED = Path(__file__).with_name("earlier_database")
"""A database as the last version with the earlier names exported it: EXPORT DATABASE ... (FORMAT csv).

It has a release `safe` with two versions, a streaming view `seen`, a hierarchy, a policy and a permission."""


@pytest.fixture
def database(tmp_path: Path) -> str:
    """Return the path of a database with the exported tables."""
    path = str(tmp_path / "earlier.duckdb")
    with duckdb.connect(path) as con:
        con.execute((EXPORTED / "schema.sql").read_text(encoding="utf-8"))
        load = (EXPORTED / "load.sql").read_text(encoding="utf-8")
        con.execute(load.replace("FROM '", f"FROM '{EXPORTED.as_posix()}/"))
    return path


def add_patients(con: Any, first: int, n: int) -> None:
    """Insert new patients."""
    con.execute(
        "INSERT INTO patients SELECT ? + i, 20 + i % 40, ['Rome', 'Oslo', 'Bonn'][1 + i % 3], "
        "['flu', 'asthma', 'angina'][1 + i % 3], i % 2 = 0, 'x' FROM range(?) AS r (i)",
        [first, n],
    )


def test_migration_renames_columns_and_values(database: str) -> None:
    with dbanon.connect(database) as con:
        policy = con.sql(
            "SELECT column_name, role, rounding, missing_codes FROM dbanon.policy WHERE table_name = 'patients'"
        )
        assert {row[0]: row[1:] for row in policy.fetchall()} == {
            "patient_number": ("person", None, None),
            "age": ("quasi", "5", None),
            "town": ("quasi", None, ["NA"]),
            "disease": ("sensitive", None, None),
            "smoker": ("insensitive", None, None),
            "note": ("identifier", None, None),
        }
        assert con.sql("SELECT max_requests FROM dbanon.permission").fetchall() == [(7,)]
        assert con.sql("SELECT refresh_mode, allow_small_differences FROM dbanon.release ORDER BY "
                       "version").fetchall() == [
            ("first", False), ("recluster", True),
        ]  # fmt: skip
        assert con.sql("SELECT status FROM dbanon.stream").fetchall() == [("active",)]
        assert con.sql("FROM policy_problems()").fetchall() == []


def test_migration_changes_no_hash(database: str) -> None:
    with dbanon.connect(database) as con:
        assert con.sql("SELECT name, status, policy_changed FROM release_status()").fetchall() == [
            ("safe", "fresh", False)
        ]
        lines = dict(con.sql("SELECT item, value FROM certificate('safe')").fetchall())
        assert lines["tables"].startswith("unchanged since the release")
        assert (lines["ground_distance"], lines["coarsen"]) == ("equal", '{"age": "20"}')
        assert '"coarsen" := MAP' in lines["statement"] and "emd" not in lines["statement"]


def test_earlier_release_can_be_published(database: str, tmp_path: Path) -> None:
    with dbanon.connect(database) as con:
        dbanon.publish(con, "safe", to=str(tmp_path / "safe.parquet"))
        names = con.sql(f"SELECT metric FROM '{tmp_path / 'safe_metrics.parquet'}'").fetchall()
        assert names != [] and not any(name.startswith(("missing:", "missing_code_records:")) for (name,) in names)
        n_rows = con.sql(f"SELECT count(*) FROM '{tmp_path / 'safe.parquet'}'").fetchall()
        assert n_rows == con.sql("SELECT records FROM dbanon.release WHERE version = 2").fetchall()


def test_earlier_release_can_be_refreshed(database: str) -> None:
    with dbanon.connect(database) as con, pytest.warns(dbanon.DisclosureWarning):
        add_patients(con, 200, 40)
        dbanon.refresh_release(con, "safe", mode="recluster", allow_small_differences=True)
        assert con.sql("SELECT version, status, k FROM releases() LEFT JOIN (SELECT 5 AS k) ON "
                       "true").fetchall()[-1][:2] == (
            3, "published",
        )  # fmt: skip
        assert con.sql("SELECT min(n) FROM (SELECT count(*) AS n FROM safe GROUP BY class_id)").fetchall()[0][0] >= 5


def test_earlier_stream_continues(database: str) -> None:
    with dbanon.connect(database) as con:
        con.execute("INSERT INTO visits SELECT 80 + i, 20 + i % 30, 80 + i FROM range(40) AS r (i)")
        before = con.sql("FROM seen").fetchall()
        assert dbanon.refresh_stream(con, "seen").read == 40
        assert con.sql("FROM seen").columns == ["age", "class_id", "suppressed"]
        assert con.sql("FROM seen").fetchall()[: len(before)] == before


def test_earlier_database_can_be_read_without_migration(database: str) -> None:
    with duckdb.connect(database, read_only=True) as con:
        dbanon.attach(con)
        assert con.sql("SELECT status, added FROM release_status()").fetchall() == [("fresh", 0)]
        assert con.sql("SELECT version FROM releases() ORDER BY ALL").fetchall() == [(1,), (2,)]
        roles = dict(con.sql("SELECT item, value FROM certificate('safe') WHERE section = 'roles'").fetchall())
        assert roles["smoker"] == "insensitive"
        assert con.sql("SELECT count(*) FROM kacpc('patients', k := 5)").fetchall()[0][0] > 0


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("FROM kacpc('t', k := 2, qi := ['a'], round := {'a': 10})", "'round' is now 'coarsen'"),
        ("FROM kacpc('t', k = 2, qi = ['a'], emd = 'equal')", "'emd' is now 'ground_distance'"),
        ("FROM choose('t', k := [2])", "'choose' is now 'tradeoffs'"),
        ("SELECT lower_of('[1, 2]')", "'lower_of' is now 'lower_bound'"),
    ],
)
def test_earlier_name_in_statement_error_states_new_name(query: str, message: str) -> None:
    for con in (dbanon.connect(), duckdb.connect()):
        with con:
            dbanon.attach(con) if isinstance(con, duckdb.DuckDBPyConnection) else None
            con.execute("CREATE TABLE t AS SELECT i % 10 AS a FROM range(20) AS r (i)")
            with pytest.raises((errors.DbanonError, duckdb.Error), match=message):
                con.execute(query).fetchall()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["choose", "x.duckdb", "t"], "No such command 'choose'. 'choose' is now 'tradeoffs'."),
        (["anonymize", "x.csv", "--other", "a"], "'--other' is now '--insensitive'."),
        (["materialize", "x.duckdb", "safe"], "'materialize' is now 'create-release'."),
        (["client", "--to", "x.sql"], "'client' is now 'write-client'."),
        (["refresh", "x.duckdb", "safe", "--allow-delta"], "'--allow-delta' is now '--allow-small-differences'."),
        (["refresh", "x.duckdb", "safe", "--refresh", "hold"], "'--refresh' is now '--mode'."),
        (["refresh", "x.duckdb", "safe", "--recluster"], "'--recluster' is now '--mode recluster'."),
        (["refresh", "x.duckdb", "safe", "--attach-writable", "a"], "'--attach-writable' is now '--attach-rw'."),
        (["publish", "x.duckdb", "--release", "safe"], "'--release NAME' is now the argument NAME."),
        (["publish", "x.duckdb", "safe", "--to", "x.csv"], "'--to' is now '--output'."),
        (["report", "x.duckdb", "safe", "--to", "x.html"], "'--to' is now '--output'."),
        (["docs", "--to", "manual"], "'--to' is now '--output'."),
        (["dbt", "--force"], "'--force' is now '--replace'."),
        (["demo", "--force"], "'--force' is now '--replace'."),
        (["hierarchy", "save", "x.duckdb", "sex", "x.csv", "--force"], "'--force' is now '--replace'."),
        (["init", "x.duckdb", "t", "--force"], "'--force' is now '--replace'."),
        (["write-client", "--to", "x.sql"], "'--to' is now '--output'."),
        (["stream", "x.duckdb", "seen", "--every", "2"], "'--every' is now '--poll-interval'."),
        (["stream", "x.duckdb", "seen", "--pruned"], "'--pruned' is now '--allow-deleted-rows'."),
        (["serve", "x.duckdb", "--seconds", "2"], "'--seconds' is now '--statement-timeout'."),
        (["serve", "x.duckdb", "--rows", "2"], "'--rows' is now '--max-rows'."),
        (["compare", "x.duckdb", "t", "--rows", "2"], "'--rows' is now '--sample-sizes'."),
        (["compare", "x.duckdb", "t", "-d", "2"], "'-d' is now '--n-quasi-identifiers'."),
        (["compare", "x.duckdb", "t", "--into", "runs"], "'--into' is now '--output'."),
    ],
)
def test_earlier_name_on_command_line_error_states_new_name(words: list[str], message: str) -> None:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2 and message in result.output


@pytest.mark.parametrize(("name", "current"), [("materialize", "create-release"), ("lower_of", "lower_bound")])
def test_manual_states_new_name_of_renamed_topic(name: str, current: str) -> None:
    result = CliRunner().invoke(main, ["docs", name])
    assert result.exit_code == 1
    assert f"'{name}' is now '{current}'." in result.output and "Did you mean" not in result.output


def test_earlier_option_without_successor_has_no_hint() -> None:
    result = CliRunner().invoke(main, ["releases", "x.duckdb", "--release", "safe"])
    assert result.exit_code == 2 and "is now" not in result.output


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("REFRESH MATERIALIZED ANONYMIZED VIEW v WITH (refresh = 'hold')", "'refresh' is now 'mode'"),
        (
            "REFRESH MATERIALIZED ANONYMIZED VIEW v WITH (allow_delta = true)",
            "'allow_delta' is now 'allow_small_differences'",
        ),
        ("REFRESH STREAMING ANONYMIZED VIEW v WITH (pruned = true)", "'pruned' is now 'allow_deleted_rows'"),
    ],
)
def test_earlier_options_of_a_refresh_are_errors_with_the_new_name(statement: str, message: str) -> None:
    with dbanon.connect() as con, pytest.raises(errors.UnknownParameterError, match=message):
        con.execute(statement)


def test_earlier_names_in_python_are_errors_with_the_new_name() -> None:
    with dbanon.connect() as con:
        with pytest.raises(TypeError, match=r"refresh_release\(\) .* 'refresh' is now 'mode'"):
            dbanon.refresh_release(con, "v", refresh="hold")  # type: ignore[call-arg]
        with pytest.raises(TypeError, match=r"refresh_stream\(\) .* 'pruned' is now 'allow_deleted_rows'"):
            dbanon.refresh_stream(con, "v", pruned=True)  # type: ignore[call-arg]
        with pytest.raises(AttributeError, match="'progress' is now 'on_progress'"):
            con.progress = print
        with pytest.raises(AttributeError, match="'reviewed' is now 'on_review'"):
            _ = con.reviewed


def test_stored_call_without_algorithm_means_kacpc() -> None:
    call = {"function": "anonymize", "source": "t", "schema": "main", "parameters": {"k": 5}}
    assert earlier_names.current_call(call) == {**call, "function": "kacpc"}
    named = {**call, "parameters": {"k": 5, "algorithm": "mondrian", "emd": "equal"}}
    assert earlier_names.current_call(named) == {
        **call, "function": "mondrian", "parameters": {"k": 5, "ground_distance": "equal"},
    }  # fmt: skip


@pytest.mark.parametrize(("given", "algorithm"), [("", "best"), (", algorithm = 'Mondrian'", "mondrian")])
def test_ledger_stores_the_algorithm_of_anonymize(given: str, algorithm: str) -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i % 10 AS a, i AS number FROM range(40) AS r (i)")
        con.execute(
            f"CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM anonymize('t', k = 4, qi = ['a']{given})"
        )
        ((statement, stored),) = con.execute("SELECT statement, algorithm FROM dbanon.release").fetchall()
        assert stored == algorithm and statement.startswith(f'SELECT * FROM "{algorithm}"(')


def test_earlier_metric_names_keep_publication_status() -> None:
    assert not metrics.is_published("missing:town", "all") and not metrics.is_published("built_levels", "all")
    assert metrics.is_published("k_all", "all")


def test_call_of_removed_function_is_unchanged() -> None:
    parameters = {"k": 5, "emd": "equal"}
    assert earlier_names.current_parameters("no_such_algorithm", parameters) == parameters
    assert earlier_names.current_parameters("anonymize", {"algorithm": "none", **parameters})["emd"] == "equal"
    statement = "FROM none('t', emd := 'equal')"
    assert earlier_names.current_statement(statement, "none", {}) == statement


def test_current_statement_renames_only_parameter_names() -> None:
    statement = (
        """SELECT * FROM "kacpc"('"main"."round = 1"', "emd" := 'emd = equal' /* emd = 1 */, round => {'emd': 10})"""
    )
    expected = """SELECT * FROM "kacpc"('"main"."round = 1"', "ground_distance" := 'emd = equal' /* emd = 1 */, """
    assert earlier_names.current_statement(statement, "kacpc", {}) == expected + "coarsen => {'emd': 10})"


def test_earlier_role_in_policy_error_states_new_name() -> None:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE t AS SELECT i % 10 AS a, i AS b FROM range(20) AS r (i)")
        con.execute(
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('t', 'a', 'quasi'), ('t', 'b', 'other')"
        )
        with pytest.raises(duckdb.Error, match="'other' is now 'insensitive'"):
            con.execute("FROM kacpc('t', k := 2)")


@pytest.mark.parametrize(
    ("old", "new"), [("NotStored", "HierarchyNotStoredError"), ("UnknownTable", "UnknownTableError")]
)
def test_earlier_error_class_states_new_name(old: str, new: str) -> None:
    message = f"dbanon.errors.{old} is now dbanon.errors.{new}"
    with pytest.raises(ImportError, match=message):
        getattr(errors, old)
    with pytest.raises(ImportError, match=message):
        exec(f"from dbanon.errors import {old}")
    assert not hasattr(errors, "NoSuchError")


def test_renamed_error_classes_exist() -> None:
    assert [new for new in RENAMED_ERRORS.values() if not hasattr(errors, new)] == []
