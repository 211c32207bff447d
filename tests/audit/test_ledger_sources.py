"""Functions about a release read its source and the roles of its columns from the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support import kept

import dbanon

pytestmark = pytest.mark.filterwarnings("ignore::dbanon.DisclosureWarning")

TREE = [["02138", "021**", "*"], ["02139", "021**", "*"], ["03010", "030**", "*"], ["03011", "030**", "*"]]
VISITS = (
    "CREATE TABLE {name} AS SELECT i AS pid, 20 + (i * 7) % 40 AS age, ['F', 'M'][1 + i % 2] AS sex, "
    "['02138', '02139', '03010', '03011'][1 + (i // 3) % 4] AS zip, "
    "['Flu', 'HIV', 'Cold'][1 + (i // 5) % 3] AS disease FROM range(120) AS r (i)"
)
RISKS = ("risk", "reidentification", "uniqueness", "disclosure", "exposure", "distortion", "infeasible_classes")
SENSITIVE = ("risk", "disclosure", "exposure")


def clinic(con: Any) -> None:
    """Create a table with a policy, and a release `safe` of it."""
    con.execute(VISITS.format(name="visits"))
    dbanon.load_hierarchy(con, "zips", TREE)
    roles: dict[str, Any] = {"age": "quasi", "sex": "quasi", "zip": ("quasi", "zips"), "disease": "sensitive"}
    dbanon.declare(con, "visits", pid="identifier", **roles)
    dbanon.create_release(con, "safe", "kacpc", "visits", k=5, alpha=0.9, key="pid")


@pytest.fixture(scope="module")
def shared_clinic() -> Iterator[Any]:
    """Return a shared clinic that no test changes."""
    with dbanon.connect() as con:
        clinic(con)
        yield con


@pytest.fixture
def own_clinic(con: Any) -> Any:
    """Return a clinic of the test's own, on a connection that was only attached."""
    kept.restore_state(con, clinic, clinic)
    return con


def rows(con: Any, call: str) -> list[Any]:
    return con.execute(f"FROM {call}").fetchall()


def refusal_message(con: Any, call: str) -> str:
    with pytest.raises(duckdb.Error) as caught:
        rows(con, call)
    return str(caught.value).split("\n")[0]


@pytest.mark.parametrize("function", RISKS)
def test_risk_of_release_reads_source_and_roles_from_ledger(shared_clinic: Any, function: str) -> None:
    text = "source = 'visits', qi = ['age', 'sex', 'zip']" + ", sensitive = ['disease']" * (function in SENSITIVE)
    actual_rows = rows(shared_clinic, f"{function}('safe')")
    assert actual_rows and actual_rows == rows(shared_clinic, f"{function}('safe', {text})") == rows(
        shared_clinic.raw, f"{function}('safe')"
    )


ZEROS = "CASE WHEN i % 2 = 0 THEN 0.0 ELSE -0.0::DOUBLE END"
"""On DuckDB 1 a release of these is refused, because values that are equal there are recorded as different rows."""

ODD = (
    "CREATE TABLE odd AS SELECT i // 3 AS who, (i // 3)::VARCHAR AS copy, (i // 3) % 10 AS age, (i // 3) % 3 AS city, "
    f"['a', 'b', 'c', 'd'][1 + (i * 7) % 4] AS d, {ZEROS if duckdb.__version__ >= '2' else '(i % 2) / 3'} AS f, "
    "'2020-01-01 00:00:00+00'::TIMESTAMPTZ + to_hours((i % 5)::INTEGER) AS z, [i % 2]::INTEGER[1] AS arr, "
    "union_value(n := i % 3) AS u, CASE WHEN i % 4 > 0 THEN 'q' END AS gap FROM range(300) AS r (i)"
)


def test_risk_counts_persons_known_to_ledger(con: Any) -> None:
    """`copy` repeats the person column and is released: the ledger gives equal results, whatever the column types."""
    con.execute(ODD)
    dbanon.create_release(
        con, "safe", "kacpc", "odd", k=5, person="who", qi=["age", "city"], sensitive=["d"],
        insensitive=["copy", "f", "z", "arr", "u", "gap"], allow_rare=["copy"],
    )  # fmt: skip
    measures = ("k_anonymity", "anonymity", "l_diversity", "alpha_k")
    for function in ("risk", "reidentification", "disclosure", "exposure", *measures):
        actual_rows = rows(con, f"{function}('safe')")
        assert actual_rows and actual_rows == rows(con, f"{function}('safe', person = 'copy')"), function
    con.execute("SET TimeZone = 'Asia/Tokyo'")
    measured_metrics = dict(con.execute(
                                "SELECT metric, value FROM kacpc_metrics('odd', k := 5, person := 'who', qi := ['age', "
                                "'city'], sensitive := ['d'])").fetchall())  # fmt: skip
    mapping = dict(con.execute("SELECT name, value FROM reidentification('safe')").fetchall())
    assert mapping["prosecutor_highest"] == measured_metrics["risk_highest"] == 0.2
    assert mapping["prosecutor_average"] == pytest.approx(measured_metrics["risk_average"], abs=1e-9)
    persons = [row[0] for row in con.execute("SELECT persons FROM safe_classes").fetchall()]
    assert sorted(row[5] for row in rows(con, "k_anonymity('safe')")) == sorted(persons)[:10]
    assert min(row[2] for row in rows(con, "k_anonymity('safe', qi = ['age'])")) >= 5


def test_records_counted_if_ledger_lists_other_people(con: Any) -> None:
    con.execute(ODD)
    options = {"k": 5, "person": "who", "qi": ["age", "city"], "sensitive": ["d"], "withhold": ["copy"]}
    dbanon.create_release(con, "safe", "kacpc", "odd", **options)
    con.execute("CREATE TABLE copied AS FROM safe")
    of_records = rows(con, "reidentification('copied', qi = ['age', 'city'])")
    assert rows(con, "reidentification('safe')") != of_records
    con.execute("DELETE FROM dbanon.membership WHERE person_key = '7'")
    assert rows(con, "reidentification('safe')") == of_records


KINDS = (
    *("homogeneity", "skewness", "background", "reconstruction", "downcoding", "refinement", "minimality"),
    "prediction",
)


@pytest.mark.parametrize("kind", KINDS)
def test_attack_on_release_requires_only_kind(shared_clinic: Any, kind: str) -> None:
    extra = {"minimality": ", k = 5, alpha = 0.9", "refinement": ", k = 5"}.get(kind, "")
    for function in ("attack", "attack_summary"):
        actual_rows = rows(shared_clinic, f"{function}('safe', kind = '{kind}')")
        assert actual_rows == rows(shared_clinic, f"{function}('safe', kind = '{kind}', source = 'visits'{extra})")
        assert actual_rows or function == "attack"


def test_query_error_of_release_equal_in_every_call_form(shared_clinic: Any) -> None:
    few_options_text = "selectivity = 0.5"
    expected = rows(shared_clinic, f"query_error('safe', source = 'visits', {few_options_text}, queries = 9)")
    assert len(expected) > 3
    for con in (shared_clinic, shared_clinic.raw):
        assert rows(con, f"query_error('safe', queries = 9, {few_options_text})") == expected
        assert rows(con, f"query_error('safe', 'visits', queries = 9, {few_options_text})") == expected
    prepared = "FROM query_error(?, ?, queries := ?, selectivity := 0.5)"
    assert shared_clinic.raw.execute(prepared, ["safe", "visits", 9]).fetchall() == expected
    assert "source is given twice" in refusal_message(shared_clinic, "query_error('safe', 'visits', source = 'visits')")
    assert "cannot read the argument 30" in refusal_message(shared_clinic, "query_error('safe', 30)")
    assert "cannot read the argument 'visits'" in refusal_message(
        shared_clinic, "query_error('safe', 'visits', 'visits')"
    )


def test_anonymity_reads_columns_of_release_from_ledger(shared_clinic: Any) -> None:
    checked_options_text = "qi = ['age', 'sex', 'zip'], sensitive = ['disease']"
    for function in ("anonymity", "alpha_k"):
        assert rows(shared_clinic, f"{function}('safe')") == rows(
            shared_clinic, f"{function}('safe', {checked_options_text})"
        )
    assert min(row[2] for row in rows(shared_clinic, "k_anonymity('safe')")) >= 5
    assert len(rows(shared_clinic, "k_anonymity('safe', qi = ['sex'])")) < 4, "what is given wins"


def test_call_contradicting_ledger_refused(own_clinic: Any) -> None:
    own_clinic.execute(VISITS.format(name="others"))
    for call in ("query_error('safe', 'others')", "disclosure('safe', source = 'others')"):
        message = refusal_message(own_clinic, call)
        assert "safe was released with source = visits, but the call has source = others" in message
    assert "released with k = 5, but the call has k = 7" in refusal_message(
        own_clinic, "attack('safe', kind = 'minimality', k = 7)"
    )
    assert "with alpha = 0.9" in refusal_message(own_clinic, "attack('safe', kind = 'minimality', alpha = 0.5)")
    own_clinic.execute("CREATE TABLE copied AS FROM safe")
    assert rows(own_clinic, "distortion('copied', source = 'visits')") == rows(own_clinic, "distortion('safe')")


def test_ledger_source_found_for_odd_schema_and_name(con: Any) -> None:
    con.execute(f"CREATE SCHEMA lab; {VISITS.format(name='visits')}")
    dbanon.declare(con, "visits", age="quasi", disease="sensitive")
    dbanon.create_release(con, 'lab."Odd name"', "kacpc", "visits", k=10, intervals="bounds")
    expected = rows(con, """disclosure('lab."Odd name"', source = 'visits')""")
    for name in ('LAB."odd NAME"', 'memory.lab."Odd name"'):
        assert rows(con, f"disclosure('{name}')") == expected
    con.execute("USE lab")
    assert rows(con, "disclosure('\"Odd name\"')") == expected
    con.execute("USE main; ALTER TABLE visits RENAME TO gone")
    assert rows(con, """disclosure('lab."Odd name"')""") == expected, "of age_min and age_max without the source"


@pytest.mark.not_everyday
def test_ledger_source_found_in_attached_database(con: Any, tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "clinic.duckdb") as file:
        clinic(file)
        expected = rows(file, "distortion('safe')")
    con.execute(VISITS.format(name="visits"))  # another table of that name
    con.execute(f"ATTACH '{tmp_path / 'clinic.duckdb'}' AS clinic (READ_ONLY)")
    assert rows(con, "distortion('clinic.main.safe')") == expected
    assert rows(con, "distortion('clinic.safe', source = 'clinic.visits')") == expected
    assert "source = visits, but the call has" in refusal_message(con, "distortion('clinic.safe', source = 'visits')")


@pytest.mark.parametrize(
    "change, message",
    [
        ("DELETE FROM safe WHERE class_id = 1", "table safe has other rows"),
        ("CREATE OR REPLACE TABLE safe AS FROM safe ORDER BY class_id DESC", "another order"),
        (
            "UPDATE dbanon.release SET roles = replace(roles, 'sensitive', 'quasi')",
            "its entry in the ledger has changed",
        ),
    ],
)
def test_changed_release_table_refused_without_arguments(own_clinic: Any, change: str, message: str) -> None:
    own_clinic.execute(change)
    for call in ("risk('safe')", "attack('safe', kind = 'homogeneity')", "k_anonymity('safe')"):
        assert "safe is no longer the release of that name" in refusal_message(own_clinic, call)
    assert message in refusal_message(own_clinic, "disclosure('safe')")
    assert rows(own_clinic, "disclosure('safe', qi = ['age', 'zip'], sensitive = ['disease'])"), "as of any table"


def test_table_with_other_columns_is_not_release(own_clinic: Any) -> None:
    own_clinic.execute("CREATE OR REPLACE TABLE safe AS SELECT age, sex, disease FROM safe")
    assert "no quasi-identifier is declared for safe" in refusal_message(own_clinic, "risk('safe')")
    assert "source is missing" in refusal_message(own_clinic, "attack('safe', kind = 'homogeneity')")
    assert "source is missing" in refusal_message(own_clinic, "query_error('safe')")


@pytest.mark.not_everyday
def test_dropped_release_unknown_and_new_version_known(own_clinic: Any) -> None:
    dbanon.refresh_release(own_clinic, "safe", mode="recluster", allow_small_differences=True)
    assert own_clinic.execute("SELECT version, status FROM releases()").fetchall() == [
        (1, "replaced"),
        (2, "published"),
    ]
    assert rows(own_clinic, "disclosure('safe')") == rows(own_clinic, "disclosure('safe', source = 'visits')")
    dbanon.drop_release(own_clinic, "safe")
    own_clinic.execute("CREATE TABLE safe AS FROM kacpc('visits', k = 5)")
    assert "no quasi-identifier is declared for safe" in refusal_message(own_clinic, "risk('safe')")


def test_roles_of_release_used_after_policy_change(own_clinic: Any) -> None:
    old_rows = {f: rows(own_clinic, f"{f}('safe')") for f in ("disclosure", "distortion", "k_anonymity")}
    own_clinic.execute("UPDATE dbanon.policy SET role = 'insensitive' WHERE column_name = 'disease'")
    own_clinic.execute("DELETE FROM dbanon.policy WHERE column_name = 'sex'")
    assert {f: rows(own_clinic, f"{f}('safe')") for f in old_rows} == old_rows
    assert rows(own_clinic, "disclosure('safe', source = 'visits')") == old_rows["disclosure"]


def test_policy_of_released_table_takes_precedence(own_clinic: Any) -> None:
    dbanon.declare(own_clinic, "safe", age="quasi", disease="sensitive")
    assert rows(own_clinic, "disclosure('safe')") == rows(
        own_clinic, "disclosure('safe', qi = ['age'], sensitive = ['disease'])"
    )


def test_hierarchies_other_than_release_refused(own_clinic: Any) -> None:
    old_rows = rows(own_clinic, "distortion('safe')")
    own_clinic.execute("UPDATE dbanon.policy SET hierarchy = NULL WHERE column_name = 'zip'")
    for call in ("risk('safe')", "attack('safe', kind = 'downcoding')", "query_error('safe')"):
        assert "not those with which safe was released" in refusal_message(own_clinic, call)
    assert rows(own_clinic, "disclosure('safe')"), "which needs none"
    assert rows(own_clinic, "distortion('safe', hierarchies = {'zip': 'zips'})") == old_rows
    own_clinic.execute("UPDATE dbanon.policy SET hierarchy = 'zips' WHERE column_name = 'zip'")
    assert rows(own_clinic, "distortion('safe')") == old_rows
    own_clinic.execute("UPDATE dbanon.hierarchy SET label = 'other**' WHERE label = '030**'")
    assert "not those with which safe was released" in refusal_message(own_clinic, "distortion('safe')")


def test_hierarchies_of_release_call_used_for_distortion(con: Any) -> None:
    con.execute(VISITS.format(name="visits"))
    dbanon.load_hierarchy(con, "zips", TREE)
    dbanon.declare(con, "visits", zip="quasi")
    dbanon.create_release(con, "safe", "kacpc", "visits", k=35, hierarchies={"zip": "zips"}, key="pid")
    assert {row[0] for row in con.execute("SELECT zip FROM safe").fetchall()} <= {"021**", "030**", "*"}
    copy_call = "distortion('copied', source = 'visits', hierarchies = {'zip': 'zips'})"
    con.execute("CREATE TABLE copied AS FROM safe")
    assert rows(con, "distortion('safe')") == rows(con, copy_call)


def test_missing_source_of_release_refused_with_hint(own_clinic: Any) -> None:
    old_rows = rows(own_clinic, "distortion('safe')")
    own_clinic.execute("ALTER TABLE visits RENAME TO archive")
    for call in ("risk('safe')", "attack('safe', kind = 'homogeneity')", "query_error('safe')"):
        message = refusal_message(own_clinic, call)
        assert "safe was released from visits, which does not exist any more" in message and "source = '...'" in message
    for function in ("disclosure", "k_anonymity"):
        assert rows(own_clinic, f"{function}('safe')")
    assert rows(own_clinic, "distortion('safe', source = 'archive')") == old_rows, (
        "what was released is known, where it is not"
    )
    own_clinic.execute("CREATE TABLE visits AS SELECT pid, age FROM archive")
    assert "or lacks columns that were released" in refusal_message(own_clinic, "distortion('safe')")


def test_ledger_source_may_be_view_or_file(con: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    con.execute(VISITS.format(name="visits"))
    con.execute("CREATE VIEW old AS FROM visits WHERE age > 30; COPY visits TO 'visits.parquet'")
    for name, source in (("safe_old", "old"), ("safe_file", "visits.parquet")):
        dbanon.create_release(con, name, "kacpc", source, k=5, qi=["age", "sex"], sensitive=["disease"])
    assert rows(con, "distortion('safe_old')") == rows(con, "distortion('safe_old', source = 'old')")
    assert "source = old, but the call has" in refusal_message(con, "disclosure('safe_old', source = 'visits')")
    expected = rows(con, "distortion('safe_file')")
    assert expected == rows(con, f"distortion('safe_file', source = '{tmp_path / 'visits.parquet'}')")
    (tmp_path / "visits.parquet").unlink()
    assert "visits.parquet, which does not exist any more" in refusal_message(con, "distortion('safe_file')")


@pytest.mark.not_everyday
def test_published_copy_requires_roles_in_call(own_clinic: Any, tmp_path: Path) -> None:
    dbanon.publish(own_clinic, "safe", tmp_path / "out.duckdb")
    with dbanon.connect(tmp_path / "out.duckdb", read_only=True) as con:
        assert "no quasi-identifier is declared for safe" in refusal_message(con, "disclosure('safe')")
        assert rows(con, "disclosure('safe', qi = ['age', 'sex', 'zip'], sensitive = ['disease'])")


def test_temporary_table_does_not_shadow_source(own_clinic: Any) -> None:
    old_rows = rows(own_clinic, "distortion('safe')")
    own_clinic.execute("CREATE TEMP TABLE visits AS FROM memory.main.visits LIMIT 30")
    assert rows(own_clinic, "distortion('safe')") == old_rows
    assert "also names a temporary table" in refusal_message(own_clinic, "distortion('safe', source = 'visits')")
    own_clinic.execute("DROP TABLE temp.visits")
