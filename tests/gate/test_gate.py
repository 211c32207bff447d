"""The release gate refuses any fault before it: the query fails and returns no row."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from support import pool

import dbanon
from dbanon.algorithms.base import registry
from dbanon.api import frame_references
from dbanon.gate import messages
from dbanon.release.plan import plan
from dbanon.runtime import label_cache, session
from dbanon.table_functions import name_index, registry as functions
from dbanon.udf import cluster
from tests.support.declarations import find_declarations

Parts = list[dict[str, Any]]

KINDS = ("kacpc", "kacpc_classes", "kacpc_metrics")
CALL = "('people', k := 3)"
REFUSED = "release gate refused the result"

ROWS = [
    # pid, person, age, zip, born, disease
    (1, "p1", 21, "02138", "2000-01-05", "Flu"),
    (2, "p2", 22, "02138", "2000-01-31", "Flu"),
    (3, "p3", 23, "02139", "2000-02-29", "HIV"),
    (4, "p4", 34, "02139", "1990-06-01", "Flu"),
    (5, "p5", 35, "02141", "1990-06-30", "Cancer"),
    (6, "p6", 36, "02141", "1990-07-01", "Flu"),
    (7, "p7", 57, "10001", "1970-12-31", "HIV"),
    (8, "p8", 58, "10001", "1971-01-01", "Flu"),
    (9, "p9", 59, "10002", "1971-01-02", "Cancer"),
    (10, "p10", 60, "10002", "1971-01-03", "Flu"),
    (11, "p11", None, None, "1960-05-05", "Flu"),
    (12, "p12", None, None, "1960-05-06", "HIV"),
    (13, "p13", None, None, "1960-05-07", "HIV"),
]
ZIPS = [[z, z[:4] + "*", z[:3] + "**", "*"] for z in ("02138", "02139", "02141", "10001", "10002")]

# --- breaking the clustering: a registered function that changes the answer of the real one -----------------

_spoil: Callable[[Parts], Parts | None] | None = None
_calls = 0


def _spoiled_cluster(request: Any, rows: Any, *domains: Any) -> Any:
    """Run dbanon_cluster and apply `_spoil` to its parts."""
    global _calls
    answer = _real_cluster(request, rows, *domains)
    if len(request) == 0:
        return answer
    _calls += 1
    if _spoil is None:
        return answer
    value = answer[0].as_py()
    assert value["error"] is None
    return pa.array([{"parts": _spoil(value["parts"]), "error": None}], cluster.ANSWER_TYPE)


_real_cluster = cluster.dbanon_cluster


@pytest.fixture
def spoil(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Parts], Parts | None]], None]:
    """Choose the change that is applied to the parts from now on."""

    def choose(how: Callable[[Parts], Parts | None]) -> None:
        monkeypatch.setitem(globals(), "_spoil", how)

    return choose


@pytest.fixture
def people(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create a connection with changeable clustering, with thirteen people and their policy."""
    monkeypatch.setattr(cluster, "dbanon_cluster", _spoiled_cluster)
    monkeypatch.setitem(globals(), "_calls", 0)
    con = pool.take()
    con.execute("CREATE TABLE people (pid INTEGER, person VARCHAR, age INTEGER, zip VARCHAR, born DATE, disease TEXT)")
    con.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?)", ROWS)
    dbanon.load_hierarchy(con, "zip5", ZIPS)
    dbanon.declare(con, "people", age="quasi", zip=("quasi", "zip5"), disease="sensitive")
    yield con
    pool.give(con)


def change_part(parts: Parts, place: int, **changed: Any) -> Parts:
    """Return the parts with one of them changed.

    They are in canonical order: the first is the person of age 21.
    """
    return [part | changed if i == place else part for i, part in enumerate(parts)]


SPOILED: dict[str, Callable[[Parts], Parts | None]] = {
    "one row dropped": lambda p: p[1:],
    "all rows dropped": lambda p: [],
    "no parts": lambda p: None,
    "a class dropped": lambda p: [x for x in p if x["cluster"] != 0],
    "one row in place of another": lambda p: [p[1], *p[1:]],
    "one row in two classes": lambda p: [*p, p[0] | {"cluster": 1 if p[0]["cluster"] == 0 else 0}],
    "a NULL group": lambda p: change_part(p, 0, gid=None),
    "an unknown group": lambda p: change_part(p, 0, gid=10**6),
    "a negative group": lambda p: change_part(p, 0, gid=-1),
    "a NULL label": lambda p: change_part(p, 0, cluster=None),
    "all labels NULL": lambda p: [x | {"cluster": None} for x in p],
    "a NULL part": lambda p: [None, *p[1:]],  # type: ignore[list-item]
    "a class of one": lambda p: change_part(p, 0, cluster=77),
    "a class of two": lambda p: change_part(change_part(p, 0, cluster=77), 1, cluster=77),
    "a class of one, negative label": lambda p: change_part(p, 0, cluster=-(2**31)),
    "a class of one, greatest label": lambda p: change_part(p, 0, cluster=2**31 - 1),
    "only classes of one": lambda p: [x | {"cluster": i} for i, x in enumerate(p)],
    "a group with a gap": lambda p: [
        *change_part(p, 0, first=2, last=2),
        p[0] | {"cluster": 77, "first": 3, "last": 3},
    ],
    "a group that overlaps": lambda p: [*p, p[0] | {"cluster": 77}],
}

SHAPES: dict[str, str] = {
    "*": "SELECT * FROM {f}",
    "FROM": "FROM {f}",
    "one column": "SELECT {c} FROM {f}",
    "a constant": "SELECT 1 FROM {f}",
    "count(*)": "SELECT count(*) FROM {f}",
    "an aggregate": "SELECT max({c}) FROM {f}",
    "groups": "SELECT {c}, count(*) FROM {f} GROUP BY {c}",
    "DISTINCT": "SELECT DISTINCT {c} FROM {f}",
    "LIMIT 1": "SELECT * FROM {f} LIMIT 1",
    "LIMIT 1 of one column": "SELECT {c} FROM {f} LIMIT 1",
    "OFFSET": "SELECT {c} FROM {f} LIMIT 1 OFFSET 3",
    "ORDER BY and LIMIT": "SELECT * FROM {f} ORDER BY {c} DESC LIMIT 1",
    "a sample": "SELECT * FROM {f} USING SAMPLE 2 ROWS",
    "EXISTS": "SELECT EXISTS (FROM {f})",
    "NOT EXISTS": "SELECT 1 WHERE NOT EXISTS (FROM {f})",
    "a scalar subquery": "SELECT (SELECT min({c}) FROM {f})",
    "IN": "SELECT 1 WHERE 1 IN (SELECT class_id FROM kacpc{a}) OR 'k' IN (SELECT metric FROM kacpc_metrics{a})",
    "a filter": "SELECT * FROM {f} WHERE {t} IS NOT NULL",
    "a filter on another class": "SELECT * FROM {f} WHERE {c} > 1",
    "a join": "SELECT * FROM {f} AS f JOIN (VALUES (1), (2), (3)) AS v (n) ON f.{c} >= v.n",
    "an outer join": "SELECT n FROM (VALUES (1), (2)) AS v (n) LEFT JOIN {f} AS f ON f.{c} = v.n",
    "an anti join": "SELECT n FROM (VALUES (-1)) AS v (n) ANTI JOIN {f} AS f ON f.{c} = v.n",
    "a window": "SELECT row_number() OVER (ORDER BY {c}) FROM {f}",
    "UNION ALL": "SELECT {c} FROM {f} UNION ALL SELECT {c} FROM {f}",
    "a CTE": "WITH w AS (FROM {f}) SELECT {c} FROM w",
    "a materialized CTE": "WITH w AS MATERIALIZED (FROM {f}) SELECT {c} FROM w LIMIT 1",
    "unnest": "SELECT unnest([1, 2]) FROM {f}",
}
"""Statements around a function; {c} is a numeric column of it and {t} a text."""

CORE = ("*", "one column", "count(*)", "LIMIT 1", "EXISTS", "a filter", "a join")


def query_shapes(function: str) -> tuple[str, ...]:
    """Return all statement shapes for the release, and the core shapes for its classes and metrics."""
    return tuple(SHAPES) if function == "kacpc" else CORE


COLUMNS = {"kacpc": ("class_id", "age"), "kacpc_classes": ("class_id", "age"), "kacpc_metrics": ("value", "metric")}


def shaped_query(shape: str, function: str, call: str = CALL) -> str:
    number, text = COLUMNS[function]
    return SHAPES[shape].format(f=function + call, a=call, c=number, t=text)


def assert_refused(con: Any, query: str, says: str = REFUSED) -> str:
    """Assert that the query fails without a row and that the connection still works; return the error's text."""
    with pytest.raises(duckdb.Error, match=says) as caught:
        con.execute(query).fetchall()
    assert con.execute("SELECT 42").fetchall() == [(42,)]
    return str(caught.value)


@pytest.mark.parametrize("how", SPOILED)
@pytest.mark.parametrize("function", KINDS)
def test_gate_refuses_every_broken_clustering(people: Any, spoil: Any, function: str, how: str) -> None:
    spoil(SPOILED[how])
    for shape in ("*", "count(*)") if function == "kacpc" else ("*",):
        assert_refused(people, shaped_query(shape, function))


def test_gate_refuses_class_of_k_minus_1_records(people: Any, spoil: Any) -> None:
    spoil(
        lambda p: change_part(p, 0, cluster=next(part["cluster"] for part in p if part["cluster"] != p[0]["cluster"]))
    )
    assert_refused(people, shaped_query("*", "kacpc"))


@pytest.mark.parametrize(("threads", "how"), [(1, "one row dropped"), (4, "a class of one")])
@pytest.mark.parametrize("function", KINDS)
def test_gate_refuses_under_every_outer_query(people: Any, spoil: Any, function: str, threads: int, how: str) -> None:
    people.execute(f"SET threads = {threads}")
    spoil(SPOILED[how])
    for shape in query_shapes(function):
        assert_refused(people, shaped_query(shape, function))


@pytest.mark.not_everyday
@pytest.mark.parametrize(
    "setting",
    [
        "PRAGMA disable_optimizer",
        "SET disabled_optimizers = 'filter_pushdown,filter_pullup,statistics_propagation,unused_columns'",
        "SET disabled_optimizers = 'cte_inlining,materialized_cte,common_subexpressions,join_order'",
        "SET preserve_insertion_order = false",
        "SET scalar_subquery_error_on_multiple_rows = false",
        "PRAGMA enable_verification",
    ],
)
def test_gate_refuses_under_every_session_setting(people: Any, spoil: Any, setting: str) -> None:
    try:
        people.execute(setting)
    except duckdb.Error as error:  # the names of optimizers differ between versions
        pytest.skip(str(error))
    spoil(SPOILED["a class of one"])
    for shape in CORE:
        assert_refused(people, shaped_query(shape, "kacpc"))
    for function in KINDS[1:]:
        assert_refused(people, shaped_query("count(*)", function))


@pytest.mark.parametrize("function", KINDS)
def test_refused_release_writes_nothing(people: Any, spoil: Any, function: str, tmp_path: Path) -> None:
    spoil(SPOILED["a class of one"])
    assert_refused(people, f"CREATE TABLE leaked AS FROM {function}{CALL}")
    assert_refused(people, f"CREATE TABLE leaked AS SELECT 1 AS one FROM {function}{CALL} LIMIT 1")
    assert_refused(people, f"CREATE TEMP TABLE leaked AS FROM {function}{CALL}")
    assert people.execute("SELECT table_name FROM duckdb_tables() WHERE table_name = 'leaked'").fetchall() == []
    people.execute("CREATE TABLE kept (one BIGINT)")
    assert_refused(people, f"INSERT INTO kept SELECT 1 FROM {function}{CALL}")
    assert_refused(people, f"UPDATE people SET pid = 0 WHERE EXISTS (FROM {function}{CALL})")
    assert_refused(people, f"DELETE FROM people WHERE EXISTS (FROM {function}{CALL})")
    assert people.execute("FROM kept").fetchall() == []
    assert people.execute("SELECT count(*), count(DISTINCT pid) FROM people").fetchall() == [(13, 13)]
    for name, options in (("x.csv", "FORMAT csv, HEADER false"), ("x.parquet", "FORMAT parquet"), ("x.json", "")):
        path = tmp_path / name
        assert_refused(people, f"COPY (FROM {function}{CALL}) TO '{path}'" + (f" ({options})" if options else ""))
        assert _rows_in(path) == 0
    folder = tmp_path / "parts"
    assert_refused(
        people, f"COPY (SELECT *, 1 AS part FROM {function}{CALL}) TO '{folder}' (FORMAT csv, PARTITION_BY part)"
    )
    assert sum(_rows_in(p) for p in folder.rglob("*.csv")) == 0


def _rows_in(path: Path) -> int:
    """Return the rows of a file that may not exist or may be unfinished."""
    if not path.exists() or path.stat().st_size < 16:
        return 0 if not path.exists() else len(path.read_bytes().strip(b"[]\r\n\tPAR1"))
    if path.suffix == ".csv":
        return len(path.read_text().splitlines())
    with duckdb.connect() as other:
        try:
            return int(other.execute(f"SELECT count(*) FROM '{path}'").fetchall()[0][0])
        except duckdb.Error:
            return 0


@pytest.mark.not_everyday
@pytest.mark.parametrize("function", KINDS)
def test_gate_refuses_in_views_prepared_statements_and_cursors(people: Any, spoil: Any, function: str) -> None:
    people.execute(f"CREATE VIEW safe AS FROM {function}{CALL}")
    people.execute(f"PREPARE later AS SELECT * FROM {function}{CALL} LIMIT 1")
    assert len(people.execute("FROM safe").fetchall()) > 0
    spoil(SPOILED["one row dropped"])
    for query in ("FROM safe", "SELECT count(*) FROM safe", "FROM safe LIMIT 1", "SELECT EXISTS (FROM safe)"):
        assert_refused(people, query)
    assert_refused(people, "EXECUTE later")
    cursor = dbanon.attach(people.cursor())
    assert_refused(cursor, f"FROM {function}{CALL}")


@pytest.mark.not_everyday
@pytest.mark.parametrize("function", KINDS)
def test_no_fetch_method_returns_refused_rows(people: Any, spoil: Any, function: str) -> None:
    spoil(SPOILED["a class of one"])
    query = f"FROM {function}{CALL}"
    fetchers: list[Callable[[], Any]] = [
        lambda: people.execute(query).fetchone(),
        lambda: people.execute(query).fetchmany(1),
        lambda: people.execute(query).fetchnumpy(),
        lambda: people.execute(query).df(),
        lambda: people.execute(query).fetch_df_chunk(1),
        lambda: people.execute(query).to_arrow_table(),
        lambda: next(iter(people.execute(query).to_arrow_reader(1))),
        lambda: people.sql(query).fetchall(),
        lambda: people.sql(query).limit(1).fetchall(),
        lambda: people.sql(query).aggregate("count(*)").fetchall(),
        lambda: people.sql(query).to_arrow_table(),
        lambda: next(iter(people.sql(query).to_arrow_reader(1))),
        lambda: str(people.sql(query)),
    ]
    for fetch in fetchers:
        with pytest.raises((duckdb.Error, pa.ArrowInvalid, OSError), match=REFUSED):
            fetch()
        assert people.execute("SELECT 42").fetchall() == [(42,)]


# --- one planted row among very many ------------------------------------------------------------------------

MANY = 100_000


def _plant(answer: Any) -> Any:
    """Return the answer with the last record in a class of its own."""
    parts = answer[0].as_py()["parts"]
    last, alone = dict(parts[-1]), max(part["cluster"] for part in parts) + 1
    single = last | {"cluster": alone, "first": last["last"]}
    rest = [last | {"last": last["last"] - 1}] if last["first"] < last["last"] else []
    return pa.array([{"parts": [*parts[:-1], *rest, single], "error": None}], cluster.ANSWER_TYPE)


def _planted_cluster(request: Any, rows: Any, *domains: Any) -> Any:
    answer = _real_cluster(request, rows, *domains)
    return answer if len(request) == 0 else _plant(answer)


@pytest.mark.parametrize("threads", [1, 4])
def test_one_planted_row_blocks_large_release(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, threads: int) -> None:
    monkeypatch.setattr(cluster, "dbanon_cluster", _planted_cluster)
    con = dbanon.attach(duckdb.connect())
    con.execute(f"SET threads = {threads}")
    con.execute(f"CREATE TABLE many AS SELECT i // 1000 AS a, i % 7 AS s FROM range({MANY}) AS r (i)")
    call = "('many', k := 5, qi := ['a'], sensitive := ['s'])"
    con.execute(f"CREATE VIEW safe AS FROM mondrian{call}")
    # The planted record is the last of 1000 equal ones: alone it publishes what they publish, which is no defect.
    assert con.execute("SELECT count(*) FROM safe").fetchall() == [(MANY,)]
    con.execute(f"UPDATE many SET a = 1000000 WHERE a = {MANY // 1000 - 1} AND s = 3")
    con.execute("UPDATE many SET a = a + 1 WHERE rowid = (SELECT max(rowid) FROM many WHERE a = 1000000)")
    for query in ("FROM safe LIMIT 1", "SELECT a FROM safe", "SELECT count(*) FROM safe WHERE a = '0'"):
        assert_refused(con, query)
    for fetch in (
        lambda: con.execute("FROM safe").fetchone(),
        lambda: next(iter(con.execute("FROM safe").to_arrow_reader(1))),
        lambda: next(iter(con.sql("FROM safe").to_arrow_reader(1))),
    ):
        with pytest.raises((duckdb.Error, pa.ArrowInvalid, OSError), match=REFUSED):
            fetch()
    assert_refused(con, "CREATE TABLE leaked AS FROM safe")
    assert_refused(con, f"COPY (FROM safe) TO '{tmp_path / 'leak.csv'}' (HEADER false)")
    assert _rows_in(tmp_path / "leak.csv") == 0
    for ending in ("_classes", "_metrics"):
        assert_refused(con, f"FROM mondrian{ending}{call} LIMIT 1")
    con.close()


# --- breaking the generalization: the text of the plan is changed -------------------------------------------


@pytest.fixture
def rewrite(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace `old` by `new` once in later plans, where the released rows are made."""
    real = plan.release_sql

    def choose(*swaps: tuple[str, str]) -> None:
        def spoiled(request: plan.ReleaseSpec) -> str:
            text = real(request)
            first_steps = [text.find(f"published_{name} AS MATERIALIZED (") for name in ("classes", "rows")]
            start, end = min(i for i in first_steps if i >= 0), text.index("gate AS MATERIALIZED (")
            part = text[start:end]
            for old, new in swaps:
                part, count = re.subn(rf"(?<![\w.]){re.escape(old)}(?!\w)", lambda _, new=new: new, part, count=1)
                assert count == 1, f"{old} is not in the plan"
            return text[:start] + part + text[end:]

        monkeypatch.setattr(plan, "release_sql", spoiled)

    return choose


def swap_published(column: str, values: str, condition: str = "true") -> tuple[str, str]:
    """Return a replacement that publishes other values, everywhere or in some classes."""
    return f"g.{column}", f"CASE WHEN {condition} THEN {values} ELSE g.{column} END AS {column}"


UNCOVERED, SMALL, CONFUSED = (messages.RELEASE_CHECKS[name][0] for name in ("uncovered", "small", "confused"))
AGE, ZIP, BORN = (f'"{column}: published"' for column in ("age", "zip", "born"))
"""Names of published values in a statement."""
FIRST = f"(SELECT min({AGE}) FROM generalized_spans WHERE {AGE} LIKE '[21%')"


def swap_first_age(values: str) -> tuple[str, str]:
    """Publish another age for the class [21, 23], which is a class of its own then."""
    return swap_published(AGE, values, f"g.{AGE} = {FIRST}")


AGES = {
    "[22, 23]": "the lower end is cut",
    "[21, 22]": "the upper end is cut",
    "[23, 21]": "the ends are swapped",
    "[22, 22]": "a point",
    "22": "one value",
    ">=22": "an open end that does not reach",
    "<=22": "another",
    "[<=19, 22]": "an open lower end",
    "[22, >=90]": "an open upper end",
    "21, 23": "no brackets",
    "[21,23]": "no space",
    "[21, 23": "no closing bracket",
    "[21 - 23]": "another separator",
    "[, ]": "no ends",
    "[, 23]": "no lower end",
    "[21, ]": "no upper end",
    "": "empty",
    "many": "a word",
    "[nan, nan]": "no numbers",
    "[21.5, 23]": "a fraction",
    " *": "a space and a star",
    "**": "two stars",
}


@pytest.mark.not_everyday
def test_gate_refuses_interval_without_original(people: Any, rewrite: Any) -> None:
    assert ("[21, 23]",) in people.execute(f"SELECT age FROM kacpc{CALL}").fetchall()
    for text in AGES:
        rewrite(swap_first_age(f"'{text}'"))
        assert UNCOVERED in assert_refused(people, shaped_query("*", "kacpc")), text
    for values in ("NULL", "'[100, 120]'", "'[22, 23]'"):
        rewrite(swap_first_age(values))
        for function in KINDS:
            for shape in ("*", "count(*)", "LIMIT 1"):
                assert UNCOVERED in assert_refused(people, shaped_query(shape, function))


ZIP_SPOILS = {
    "a sibling": ("0213*", "0214*"),
    "another branch": ("0213*", "10***"),
    "another branch's node": ("0213*", "100**"),
    "one of its leaves": ("0213*", "02138"),
    "no label": ("0213*", "02"),
    "empty": ("0213*", ""),
    "an escaped original": ("0213*", "\\02138"),
    "a path": ("0213*", "021** > 0214*"),
    "a leaf for another": ("1000*", "10001"),
}


@pytest.mark.parametrize("function", ["kacpc", "kacpc_metrics"])
def test_gate_refuses_node_that_is_no_ancestor(people: Any, rewrite: Any, function: str) -> None:
    published_values = {z for (z,) in people.execute(f"SELECT zip FROM kacpc{CALL}").fetchall()}
    assert {"0213*", None} <= published_values, published_values
    for why, (old, new) in ZIP_SPOILS.items():
        if old not in published_values:
            old = next(z for z in published_values if z is not None and z.startswith("100"))
        rewrite(swap_published(ZIP, f"'{new}'", f"g.{ZIP} = '{old}'"))
        assert UNCOVERED in assert_refused(people, shaped_query("*", function)), why
    rewrite(swap_published(ZIP, "NULL", f"g.{ZIP} = '0213*'"))
    assert UNCOVERED in assert_refused(people, shaped_query("*", function))


@pytest.mark.parametrize("function", KINDS)
def test_gate_refuses_value_for_null_and_null_for_value(people: Any, rewrite: Any, function: str) -> None:
    for swap in (
        swap_published(AGE, "'[1, 99]'", f"g.{AGE} IS NULL"),
        swap_published(AGE, "'21'", f"g.{AGE} IS NULL"),
        swap_published(AGE, "'>=0'", f"g.{AGE} IS NULL"),
        swap_published(ZIP, "'0213*'", f"g.{ZIP} IS NULL"),
        swap_published(ZIP, "'021**'", f"g.{ZIP} IS NULL"),
        swap_first_age("NULL"),
    ):
        rewrite(swap)
        assert UNCOVERED in assert_refused(people, shaped_query("*", function))


@pytest.mark.not_everyday
def test_gate_refuses_replaced_star(people: Any, rewrite: Any) -> None:
    people.execute("UPDATE people SET zip = '10001' WHERE pid IN (1, 4); UPDATE people SET age = 21 WHERE pid < 11")
    assert ("*",) in people.execute(f"SELECT zip FROM kacpc{CALL}").fetchall()
    for instead in ("'021**'", "'100**'", "'10001'", "NULL", "'?'"):
        rewrite(swap_published(ZIP, instead, f"g.{ZIP} = '*'"))
        for function in KINDS:
            assert_refused(people, shaped_query("*", function))


@pytest.mark.not_everyday
def test_gate_refuses_date_interval_not_covering_original(people: Any, rewrite: Any) -> None:
    call = "('people', k := 3, qi := ['born'], sensitive := ['disease'], insensitive := ['age'], allow_rare := ['age'])"
    people.execute("DELETE FROM dbanon.policy")
    old_rows = people.execute(f"SELECT DISTINCT born FROM kacpc{call} ORDER BY 1").fetchall()
    assert old_rows[0] == ("1960-05",)
    of_may = f"g.{BORN} LIKE '%1960%'"
    for text in ("[1960-05-01, 1960-05-06]", "[1960-05-06, 1960-05-31]", "1960-04", "1960", "1960-Q2", "1960-05-06"):
        rewrite(swap_published(BORN, f"'{text}'", of_may))
        for function in KINDS:
            assert UNCOVERED in assert_refused(people, shaped_query("*", function, call))
    people.execute("ALTER TABLE people ALTER born TYPE TIMESTAMP USING born + TIME '23:59:59.999999'")
    rewrite()
    assert people.execute(f"SELECT DISTINCT born FROM kacpc{call} ORDER BY 1").fetchall() == old_rows
    for text in (
        "[1960-05-01, 1960-05-06]",
        "[1960-05-01 00:00:00, 1960-05-07 00:00:00]",
        "[1960-05-05 23:59:59.999999, 1960-05-07 23:59:59.999998]",
        "[1960-05-06, 1960-05-31]",
    ):
        rewrite(swap_published(BORN, f"'{text}'", of_may))
        for function in KINDS:
            assert UNCOVERED in assert_refused(people, shaped_query("*", function, call))
    rewrite(swap_published(BORN, "'[1960-05-05, 1960-05-07]'", of_may))  # it covers, but dates have months
    for function in KINDS:
        assert "the policy does not publish unchanged" in assert_refused(people, shaped_query("*", function, call))


@pytest.mark.not_everyday
@pytest.mark.parametrize("intervals", ["bounds", "struct"])
def test_gate_refuses_typed_bounds_without_original(people: Any, rewrite: Any, intervals: str) -> None:
    call = f"('people', k := 3, intervals := '{intervals}')"
    assert len(people.execute(f"FROM kacpc{call}").fetchall()) == 13
    low, high = '"age: low"', '"age: high"'
    for swap in (
        swap_published(low, "22", f"g.{low} = 21"),
        swap_published(high, "22", f"g.{high} = 23"),
        # A struct without a low end is published as NULL, which is true of every value.
        *([swap_published(low, "NULL", f"g.{low} = 21")] if intervals == "bounds" else []),
        swap_published(high, "NULL", f"g.{high} = 23"),
        swap_published(low, "99", f"g.{low} = 21"),
        swap_published(low, "0", f"g.{low} IS NULL"),
    ):
        rewrite(swap)
        for function in KINDS:
            number = {"kacpc": "SELECT * FROM {}", "kacpc_classes": "SELECT size FROM {}"}.get(function, "FROM {}")
            assert UNCOVERED in assert_refused(people, number.format(function + call))


def test_gate_refuses_top_and_bottom_not_covering_original(people: Any, rewrite: Any) -> None:
    call = "('people', k := 3, top := {'age': 55}, bottom := {'age': 23})"
    old_ages = {age for (age,) in people.execute(f"SELECT age FROM kacpc{call}").fetchall()}
    assert {"<=23", ">=55"} <= old_ages, old_ages
    for old, new in (("<=23", "<=22"), ("<=23", "23"), (">=55", ">=58"), (">=55", "55"), (">=55", "<=55")):
        rewrite(swap_published(AGE, f"'{new}'", f"g.{AGE} = '{old}'"))
        for function in KINDS:
            assert UNCOVERED in assert_refused(people, shaped_query("*", function, call))


# --- classes, persons and unchanged columns -----------------------------------------------------------------


def test_gate_refuses_equal_values_with_several_class_ids(people: Any, rewrite: Any) -> None:
    rewrite(("g.class_id", "CASE WHEN g.class_id = 1 THEN 100 ELSE g.class_id END AS class_id"))
    for function in KINDS:
        assert_refused(people, shaped_query("*", function))
    rewrite(swap_published(AGE, "'*'"), swap_published(ZIP, "'*'"))
    for function in KINDS:
        assert CONFUSED in assert_refused(people, shaped_query("*", function))


def test_gate_refuses_different_values_with_one_class_id(people: Any, rewrite: Any) -> None:
    rewrite(("g.class_id", "1::BIGINT AS class_id"))
    for function in KINDS:
        assert_refused(people, shaped_query("*", function))
    rewrite(("g.class_id", "CASE WHEN g.class_id <= 2 THEN 1 ELSE g.class_id END AS class_id"))
    for function in KINDS:
        assert_refused(people, shaped_query("*", function))


def test_gate_refuses_missing_class_id(people: Any, rewrite: Any) -> None:
    rewrite(("g.class_id", "nullif(g.class_id, 1) AS class_id"))
    for function in KINDS:
        assert_refused(people, shaped_query("*", function))


def test_gate_refuses_sensitive_value_of_other_row(people: Any, rewrite: Any) -> None:
    for instead in ("'Flu'", "NULL", "CASE WHEN s.rid = 4 THEN 'Flu' ELSE s.disease END"):
        rewrite(('s."disease"', f"{instead} AS disease"))
        for function in KINDS:
            assert_refused(people, shaped_query("*", function))


@pytest.mark.not_everyday
def test_gate_refuses_k_rows_of_too_few_persons(people: Any, spoil: Any) -> None:
    people.execute("UPDATE people SET person = 'same' WHERE pid IN (1, 2)")
    call = "('people', k := 3, person := 'person')"

    def one_class_of_two_persons(parts: Parts) -> Parts:
        return [part | {"cluster": 0 if i < 3 else 1} for i, part in enumerate(parts)]

    assert len(people.execute(f"FROM kacpc{call}").fetchall()) == 13
    spoil(one_class_of_two_persons)
    assert people.execute(f"SELECT count(*) FROM kacpc{CALL}").fetchall() == [(13,)]  # three rows, without persons
    for function in KINDS:
        for shape in ("*", "count(*)", "LIMIT 1", "EXISTS"):
            assert SMALL in assert_refused(people, shaped_query(shape, function, call))
    people.execute("UPDATE people SET person = NULL WHERE pid = 2; UPDATE people SET person = 'p1' WHERE pid = 1")
    for function in KINDS:  # an unknown person does not count
        assert SMALL in assert_refused(people, shaped_query("*", function, call))


@pytest.mark.parametrize("last", [1, 0], ids=["no record", "less than none"])
def test_gate_refuses_persons_without_record_in_class(people: Any, spoil: Any, last: int) -> None:
    """Check that a person does not count in a class where the clustering put none of the person's records."""
    people.execute("CREATE TABLE stays AS SELECT i // 3 AS pid, i // 3 AS age FROM range(27) AS r (i)")
    call = "('stays', k := 3, person := 'pid', qi := ['age'])"
    assert len(people.execute(f"FROM kacpc{call}").fetchall()) == 27

    def one_class_of_two_persons(parts: Parts) -> Parts:
        """Put two persons in cluster 1, and a third one with an empty part."""
        gids = sorted(part["gid"] for part in parts)
        moved_parts = [dict(part, cluster=1 if part["gid"] in gids[:2] else 0) for part in parts]
        third = next(part for part in moved_parts if part["gid"] == gids[2])
        return [*moved_parts, dict(third, cluster=1, first=2, last=last)]

    spoil(one_class_of_two_persons)
    for function in KINDS:
        assert_refused(people, shaped_query("*", function, call))


# --- accepted releases ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "swaps",
    [
        (swap_first_age("'[0, 99]'"),),
        (swap_first_age("'[<=0, >=99]'"),),
        (swap_first_age("'*'"),),
        (swap_published(ZIP, "'021**'", f"g.{ZIP} = '0213*'"),),
        (swap_published(ZIP, "'*'", f"g.{ZIP} = '0213*'"),),
    ],
    ids=["a wider interval", "an open interval", "a star", "a higher node", "the root"],
)
def test_gate_accepts_lossier_true_release(people: Any, rewrite: Any, swaps: Any) -> None:
    rewrite(*swaps)
    rows = people.execute(f"SELECT age, zip, disease, class_id FROM kacpc{CALL}").fetchall()
    assert sorted(d for _, _, d, _ in rows) == sorted(r[-1] for r in ROWS)
    sizes = Counter(class_id for *_, class_id in rows)
    assert sum(sizes.values()) == 13
    assert min(sizes.values()) >= 3
    for function in ("kacpc_classes", "kacpc_metrics"):  # they still say how much less was lost
        assert "metrics that do not follow from the released rows" in assert_refused(people, f"FROM {function}{CALL}")


def test_redundant_partition_changes_nothing(people: Any, spoil: Any) -> None:
    old_rows = people.execute(f"FROM kacpc{CALL}").fetchall()
    nobody = {"cluster": 0, "first": 1, "last": 1}
    spoil(lambda parts: [*parts, {"gid": 99, **nobody}, {"gid": None, **nobody}])
    assert people.execute(f"FROM kacpc{CALL}").fetchall() == old_rows
    spoil(lambda parts: parts + parts)
    assert people.execute(f"FROM kacpc{CALL}").fetchall() == old_rows


def test_gate_accepts_single_class_of_all_records(people: Any, spoil: Any) -> None:
    spoil(lambda parts: [part | {"cluster": -5} for part in parts])
    people.execute("DELETE FROM people WHERE age IS NULL")
    rows = people.execute(f"SELECT DISTINCT age, zip, class_id FROM kacpc{CALL}").fetchall()
    assert rows == [("[21, 60]", "*", 1)]
    rows = people.execute("SELECT DISTINCT age_min, age_max FROM kacpc('people', k=3, intervals='bounds')").fetchall()
    assert rows == [(21, 60)]


# --- a broken algorithm in the registry -----------------------------------------------------------------------


@pytest.fixture
def algorithm(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[registry.AlgorithmFunction], Any]]:
    """Register an algorithm `broken` and return a connection that has it."""
    open_result: list[Any] = []
    caches = (functions.table_functions, frame_references._function_name_pattern)

    def register(run: registry.AlgorithmFunction) -> Any:
        actual_algorithm = registry.Algorithm(
            name="broken", title="Broken", family="test", run=run, source="-", evidence="own", deterministic=True,
            complexity="O(1)",
        )  # fmt: skip
        monkeypatch.setitem(registry._REGISTRY, "broken", actual_algorithm)
        monkeypatch.setattr(name_index, "FUNCTIONS_BY_MODULE", find_declarations())
        for cached in caches:
            cached.cache_clear()
        con = dbanon.attach(duckdb.connect())
        con.execute("CREATE TABLE t AS SELECT i AS a, i % 3 AS s FROM range(30) AS r (i)")
        open_result.append(con)
        return con

    yield register
    for con in open_result:
        con.close()
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


WRONG_LABELS: dict[str, Callable[[int], Any]] = {
    "too few": lambda n: np.zeros(n - 1, np.int64),
    "too many": lambda n: np.zeros(n + 1, np.int64),
    "none": lambda n: np.zeros(0, np.int64),
    "all different": lambda n: np.arange(n),
    "one alone": lambda n: np.arange(n) // (n - 1),
    "one unassigned": lambda n: np.where(np.arange(n) == n - 1, -1, 0),
    "two dimensions": lambda n: np.zeros((n, 2), np.int64),
    "wrapping to one alone": lambda n: np.where(np.arange(n) == 0, 2**32 + 5, 0),
    "not an array": lambda n: [0] * n,
    "nothing": lambda n: None,
}


@pytest.mark.parametrize("wrong", WRONG_LABELS)
def test_wrong_registered_algorithm_gives_no_row(algorithm: Any, wrong: str) -> None:
    con = algorithm(lambda space, constraint, options, check: WRONG_LABELS[wrong](space.rows))
    for ending in ("", "_classes", "_metrics"):
        for query in ("FROM {}", "SELECT count(*) FROM {}", "SELECT EXISTS (FROM {})", "FROM {} LIMIT 1"):
            with pytest.raises(duckdb.Error):
                con.execute(query.format(f"broken{ending}('t', k := 5, qi := ['a'], sensitive := ['s'])")).fetchall()
            assert con.execute("SELECT 42").fetchall() == [(42,)]


def test_raising_algorithm_gives_no_row(algorithm: Any) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError("no reason")

    con = algorithm(fail)
    for ending in ("", "_classes", "_metrics"):
        with pytest.raises(duckdb.Error, match="no reason"):
            con.execute(f"SELECT count(*) FROM broken{ending}('t', k := 5, qi := ['a'])").fetchall()


# --- number of clusterings ------------------------------------------------------------------------------------


def n_clusterings(con: Any) -> int:
    """Return the number of clusterings that the connection's instance has computed."""
    return session.find_session(con).cache.n_computed


def test_one_statement_clusters_once(people: Any) -> None:
    people.execute(
        f"SELECT * FROM kacpc{CALL} AS r JOIN kacpc_classes{CALL} AS c USING (class_id), kacpc_metrics{CALL} AS m "
        f"WHERE c.size > (SELECT count(*) FROM kacpc{CALL}) / 100 OR EXISTS (FROM kacpc{CALL})"
    ).fetchall()
    assert n_clusterings(people) == 1


@pytest.mark.parametrize("function", KINDS)
def test_one_reference_calls_clustering_function_once(people: Any, function: str) -> None:
    people.execute(f"FROM {function}{CALL}").fetchall()
    assert _calls == 1


@pytest.mark.not_everyday
def test_release_classes_and_metrics_cluster_once(people: Any) -> None:
    for function in KINDS:
        people.execute(f"FROM {function}{CALL}").fetchall()
    people.execute(f"CREATE TABLE safe AS FROM kacpc{CALL}")
    people.execute("CREATE VIEW v AS FROM kacpc('memory.main.people', k = 3)")
    people.execute("FROM v").fetchall()
    dbanon.attach(people.cursor()).execute(f"FROM kacpc{CALL}").fetchall()
    assert n_clusterings(people) == 1


@pytest.mark.not_everyday
def test_changed_data_or_parameters_cluster_again(people: Any) -> None:
    def run(arguments: str = "") -> int:
        people.execute(f"FROM kacpc('people', k := 3{arguments})").fetchall()
        return n_clusterings(people)

    assert run() == 1
    people.execute("INSERT INTO people VALUES (14, 'p14', 70, '10002', DATE '1990-01-01', 'Flu')")
    assert run() == 2
    people.execute("UPDATE people SET age = 69 WHERE pid = 7")
    assert run() == 3
    assert run(", weights := {'age': 2}") == 4
    assert run(", qi := ['zip', 'age']") == 5
    assert run(", qi := ['zip']") == 6
    assert run(", prune_unused := false") == 7
    assert run(", person := 'person'") == 7  # with one record per person, persons change nothing
    people.execute("UPDATE people SET person = 'p1' WHERE pid = 2")
    assert run(", person := 'person'") == 8
    people.execute("FROM kacpc('people', k := 4)").fetchall()
    people.execute("FROM mondrian('people', k := 3)").fetchall()
    assert n_clusterings(people) == 10
    assert run() == 10, "the earlier results are still known"


def test_cache_not_used_for_changed_table(people: Any) -> None:
    old_rows = people.execute(f"FROM kacpc{CALL}").fetchall()
    people.execute("CREATE TABLE other AS SELECT * REPLACE (age + 1 AS age) FROM people")
    people.execute("DROP TABLE people")
    people.execute("ALTER TABLE other RENAME TO people")
    new_rows = people.execute(f"FROM kacpc{CALL}").fetchall()
    assert old_rows != new_rows
    assert ("[22, 24]",) in people.execute(f"SELECT age FROM kacpc{CALL}").fetchall()


def test_cleared_cache_clusters_again(people: Any) -> None:
    people.execute(f"FROM kacpc{CALL}").fetchall()
    dbanon.clear_cache(people)
    people.execute(f"FROM kacpc{CALL}").fetchall()
    assert n_clusterings(people) == 2


def test_refused_clustering_is_not_cached(people: Any, spoil: Any) -> None:
    spoil(SPOILED["one row dropped"])
    assert_refused(people, f"FROM kacpc{CALL}")
    spoil(lambda parts: parts)
    assert len(people.execute(f"FROM kacpc{CALL}").fetchall()) == 13


def test_failed_clustering_is_not_cached(algorithm: Any) -> None:
    fails = [True]

    def run(space: Any, *_: Any) -> Any:
        if fails:
            fails.pop()
            raise ValueError("once")
        return np.zeros(space.rows, np.int64)

    con = algorithm(run)
    query = "SELECT count(*) FROM broken('t', k := 5, qi := ['a'])"
    with pytest.raises(duckdb.Error, match="once"):
        con.execute(query).fetchall()
    assert con.execute(query).fetchall() == [(30,)]
    assert n_clusterings(con) == 2


@pytest.mark.not_everyday
def test_concurrent_threads_cluster_once(algorithm: Any) -> None:
    def slowly(space: Any, *_: Any) -> Any:
        time.sleep(0.4)
        return np.zeros(space.rows, np.int64)

    con = algorithm(slowly)
    barrier, results = threading.Barrier(4), []

    def run() -> None:
        with con.cursor() as cursor:
            dbanon.attach(cursor)
            barrier.wait()
            results.append(cursor.execute("FROM broken('t', k := 5, qi := ['a'], sensitive := ['s'])").fetchall())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 4
    assert all(r == results[0] for r in results)
    assert n_clusterings(con) == 1


def test_shared_computation_ends_after_labels_cached() -> None:
    """A caller that arrives just as a computation ends must find either the computation or the labels."""
    cache = label_cache.LabelCache()
    late: list[threading.Thread] = []
    labels = np.zeros(1, np.int32)

    class Lock:
        """A lock that starts a late caller each time the first caller releases it after computing."""

        def __init__(self) -> None:
            self.inner = threading.Lock()

        def __enter__(self) -> None:
            self.inner.acquire()

        def __exit__(self, *_: object) -> None:
            self.inner.release()
            if computed and threading.current_thread() is threading.main_thread() and len(late) < 4:
                late.append(threading.Thread(target=lambda: cache.get(b"key", lambda: labels)))
                late[-1].start()
                late[-1].join(0.5)

    computed: list[bool] = []

    def compute() -> Any:
        computed.append(True)
        return labels

    cache._lock = Lock()  # type: ignore[assignment]
    cache.get(b"key", compute)
    for thread in late:
        thread.join()
    assert cache.n_computed == 1


def test_cache_respects_size_limit() -> None:
    cache = label_cache.LabelCache(max_bytes=1000)
    for i in range(10):
        cache.get(bytes([i]), lambda: np.zeros(100, np.int32))
    assert sum(a.nbytes for a in cache._labels.values()) <= 1000
    cache.get(bytes([9]), lambda: pytest.fail("the newest is kept"))
    cache.get(bytes([0]), lambda: np.zeros(100, np.int32))
    assert cache.n_computed == 11


def test_stored_labels_respect_size_limit_but_for_newest() -> None:
    cache = label_cache.LabelCache(max_bytes=100)
    for key in (b"a", b"b", b"c"):
        cache.put(key, np.zeros(50, np.int32))
    assert list(cache._labels) == [b"c"]
    cache.put(b"c", np.ones(20, np.int32))
    cache.put(b"d", np.ones(5, np.int32))
    assert list(cache._labels) == [b"c", b"d"]


def test_instances_have_separate_caches(people: Any) -> None:
    people.execute(f"FROM kacpc{CALL}").fetchall()
    with duckdb.connect() as other:
        dbanon.attach(other)
        assert n_clusterings(other) == 0


def test_columns_may_use_names_of_gate(con: Any) -> None:
    names = ["l", "r", "s", "c", "p", "v"]
    columns = ", ".join(f'i % 2 AS "{name}"' for name in names)
    con.execute(f"CREATE OR REPLACE TABLE named AS SELECT i % 9 AS age, {columns} FROM range(60) x (i)")
    for kind in KINDS:
        assert con.execute(f"FROM {kind}('named', k := 5, qi := 'age', sensitive := {names})").fetchall()
