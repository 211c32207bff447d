"""Sources of the same people with different names, sources that cannot be determined, and unrelated ones."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import dbanon
from dbanon import errors

ROLES = {"id": "person", "age": "quasi", "disease": "sensitive"}

PEOPLE = (
    "SELECT i AS id, (20 + hash(i, {seed}) % 60)::INTEGER AS age, "
    "['flu', 'hiv', 'cold', 'none'][(1 + hash(i, {seed} + 1) % 4)::INTEGER] AS disease FROM range(60) AS r (i)"
)


@pytest.fixture
def ward(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Create a database in a folder with a table, a file of the same people, and a file of others."""
    monkeypatch.chdir(tmp_path)
    with dbanon.connect(tmp_path / "ward.duckdb") as con:
        con.execute(f"CREATE TABLE p AS {PEOPLE.format(seed=1)}")
        con.execute(f"CREATE TABLE other AS {PEOPLE.format(seed=5)}")
        for ending in ("parquet", "csv", "json"):
            con.execute(f"COPY p TO 'x.{ending}'; COPY other TO 'y.{ending}'")
        (tmp_path / "sub").mkdir()
        yield con


def release_warnings(con: Any, name: str, source: str, composition: str = "refuse", k: int = 5) -> list[str]:
    """Return the warnings of a release of a source, whose roles are in the call or in a policy."""
    if Path(source).exists():
        parameters: dict[str, Any] = {"qi": ["age"], "sensitive": ["disease"], "person": "id"}
    else:
        dbanon.declare(con, source, **ROLES)
        parameters = {}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dbanon.create_release(con, name, "mondrian", source, k=k, composition=composition, **parameters)
    return [str(w.message) for w in caught]


def view_source(name: str, query: str) -> Callable[[Any], str]:
    """Make a view and return its name."""

    def make(con: Any) -> str:
        con.execute(f"CREATE VIEW {name} AS {query}")
        return name

    return make


def statement_source(source: str, *statements: str) -> Callable[[Any], str]:
    """Run statements and return the name of a source."""

    def make(con: Any) -> str:
        for statement in statements:
            con.execute(statement)
        return source

    return make


def copy_source(con: Any) -> str:
    shutil.copy("x.parquet", "sub/copy.parquet")
    return view_source("v", "FROM 'sub/copy.parquet'")(con)


def link_source(con: Any) -> str:
    Path("sub/link.parquet").symlink_to(Path("x.parquet").resolve())
    con.execute("COPY other TO 'sub/decoy.parquet'")
    return view_source("v", "FROM read_parquet('sub/link.parquet')")(con)


def move_source(con: Any) -> str:
    Path("x.parquet").rename("sub/z.parquet")
    return view_source("v", "FROM 'sub/z.parquet'")(con)


def absolute_path_source(con: Any) -> str:
    return view_source("v", f"FROM '{Path('x.parquet').resolve()}'")(con)


P = statement_source("p")
FILE = view_source("f", "FROM read_parquet('x.parquet')")

SAME: dict[str, tuple[Callable[[Any], str], Callable[[Any], str]]] = {
    "renamed": (P, statement_source("q", "ALTER TABLE p RENAME TO q", "DELETE FROM dbanon.policy")),
    "renamed_and_replaced": (
        P,
        statement_source("q", "ALTER TABLE p RENAME TO q", "CREATE TABLE p AS FROM other", "DELETE FROM dbanon.policy"),
    ),
    "renamed_and_changed": (
        P,
        statement_source(
            "q",
            "ALTER TABLE p RENAME TO q",
            "DELETE FROM dbanon.policy",
            "UPDATE q SET age = age + 1",
        ),
    ),
    "moved_to_schema": (
        P,
        statement_source(
            "s.p", "CREATE SCHEMA s", "CREATE TABLE s.p AS FROM p", "DROP TABLE p", "DELETE FROM dbanon.policy"
        ),
    ),
    "copied_table": (P, statement_source("q", "CREATE TABLE q AS FROM p")),
    "view": (P, view_source("v", "FROM p")),
    "nested_view": (P, statement_source("v", "CREATE VIEW w AS FROM p", "CREATE VIEW v AS FROM w")),
    "subquery": (P, view_source("v", "SELECT * FROM (SELECT * FROM p WHERE id IN (SELECT id FROM other))")),
    "query_table": (P, view_source("v", "FROM query_table('p')")),
    "query_table_list": (P, view_source("v", "FROM query_table(['p'])")),
    "query": (P, view_source("v", "FROM query('FROM p')")),
    "macro": (P, statement_source("v", "CREATE MACRO m() AS TABLE FROM p", "CREATE VIEW v AS FROM m()")),
    "macro_of_name": (
        P,
        statement_source("v", "CREATE MACRO m(t) AS TABLE FROM query_table(t)", "CREATE VIEW v AS FROM m('p')"),
    ),
    "table_of_file": (FILE, statement_source("q", "CREATE TABLE q AS FROM 'x.parquet'")),
    "two_views": (FILE, view_source("v", "FROM read_parquet('x.parquet')")),
    "view_by_name": (FILE, view_source("v", "FROM 'x.parquet'")),
    "view_by_list": (FILE, view_source("v", "FROM read_parquet(['x.parquet'])")),
    "view_by_pattern": (FILE, view_source("v", "FROM read_parquet('x.par*')")),
    "parquet_scan": (FILE, view_source("v", "SELECT * FROM parquet_scan('x.parquet', filename = false)")),
    "absolute_path": (FILE, absolute_path_source),
    "path_with_dots": (FILE, view_source("v", "FROM 'sub/../x.parquet'")),
    "symbolic_link": (FILE, link_source),
    "copied_file": (FILE, copy_source),
    "moved_file": (FILE, move_source),
    "file_and_view": (statement_source("x.parquet"), view_source("v", "FROM 'x.parquet'")),
    "view_and_file": (FILE, statement_source("x.parquet")),
    "csv": (view_source("f", "FROM read_csv('x.csv')"), view_source("v", "FROM 'x.csv'")),
    "csv_and_file": (view_source("f", "FROM 'x.csv'"), statement_source("x.csv")),
    "json": (view_source("f", "FROM read_json('x.json')"), view_source("v", "FROM 'x.json'")),
    "other_format": (FILE, view_source("v", "SELECT id, age::INTEGER AS age, disease FROM 'x.csv'")),
    "macro_of_file": (
        FILE,
        statement_source("v", "CREATE MACRO m() AS TABLE FROM read_parquet('x.parquet')", "CREATE VIEW v AS FROM m()"),
    ),
}
"""Equal people under two names: the source of the first release, and that of the second."""

UNKNOWN: dict[str, tuple[Callable[[Any], str], Callable[[Any], str]]] = {
    "computed_path": (FILE, view_source("v", "FROM read_parquet('y' || '.parquet')")),
    "computed_list": (FILE, view_source("v", "FROM read_parquet(['y.parquet', 'y' || '.parquet']) WHERE id < 20")),
    "macro_of_path": (
        FILE,
        statement_source(
            "v",
            "CREATE MACRO m(t) AS TABLE FROM read_parquet(t)",
            "CREATE VIEW v AS FROM m('y.parquet') WHERE id < 20",
        ),
    ),
    "read_text": (
        P,
        view_source("v", "SELECT i AS id, i AS age, content AS disease FROM read_text('x' || '.csv'), range(20) r(i)"),
    ),
    "first_is_unknown": (view_source("v", "FROM read_parquet('x' || '.parquet')"), statement_source("other")),
    "renamed_and_respelled": (
        P,
        statement_source(
            "q", "ALTER TABLE p RENAME TO q", "DELETE FROM dbanon.policy", "UPDATE q SET disease = upper(disease)"
        ),
    ),
    "dropped": (P, statement_source("other", "DROP TABLE p", "DELETE FROM dbanon.policy")),
}
"""Pairs of sources for which it is unknown whether they have the same people."""

UNRELATED: dict[str, tuple[Callable[[Any], str], Callable[[Any], str]]] = {
    "tables": (P, statement_source("other")),
    "files": (FILE, view_source("v", "FROM 'y.parquet'")),
    "file_and_table": (FILE, statement_source("other")),
    "files_of_one_folder": (view_source("f", "FROM read_parquet('x.*q*t')"), view_source("v", "FROM 'y.csv'")),
    "dropped_with_other_columns": (
        statement_source("q", "CREATE TABLE q AS SELECT id, age, disease, 1 AS a, 2 AS b, 3 AS c, 4 AS d FROM other"),
        statement_source("p", "DROP TABLE q", "DELETE FROM dbanon.policy"),
    ),
    "rows_of_the_view": (
        P,
        view_source("v", "SELECT i AS id, 20 + i % 7 AS age, 'a' || (i % 4) AS disease FROM range(40) r(i)"),
    ),
}
"""Pairs of sources that share nothing but some ids."""


@pytest.mark.parametrize("case", SAME)
def test_renamed_source_of_same_people_refused(ward: Any, case: str) -> None:
    first, second = SAME[case]
    assert release_warnings(ward, "a", first(ward)) == []
    source = second(ward)
    with pytest.raises((errors.CompositionRefusedError, errors.UnknownRelationError)):
        release_warnings(ward, "b", source, k=7)
    assert ward.execute("SELECT name FROM releases()").fetchall() == [("a",)]


@pytest.mark.all_cases
@pytest.mark.parametrize("case", UNKNOWN)
def test_unknown_relation_is_refused_or_warned_once(ward: Any, case: str) -> None:
    first, second = UNKNOWN[case]
    assert release_warnings(ward, "a", first(ward)) == []
    source = second(ward)
    with pytest.raises(errors.UnknownRelationError, match="in a "):
        release_warnings(ward, "b", source)
    (warning,) = release_warnings(ward, "b", source, "warn")
    assert "it is not known whether the same people are in a " in warning
    unchecked = ward.execute("SELECT unchecked_against FROM releases() WHERE name = 'b'").fetchall()
    assert unchecked == [(["a (relation unknown)"],)]
    lines = ward.execute("SELECT item, value FROM certificate('b') WHERE value = 'a'").fetchall()
    assert lines == [("not compared, because it is unknown whether the people are the same", "a")]


@pytest.mark.parametrize("case", UNRELATED)
def test_unrelated_sources_published_without_warning(ward: Any, case: str) -> None:
    first, second = UNRELATED[case]
    assert release_warnings(ward, "a", first(ward)) == []
    assert release_warnings(ward, "b", second(ward)) == []
    assert ward.execute("SELECT unchecked_against FROM releases()").fetchall() == [([],), ([],)]


def test_unchanged_file_refresh_warns_nothing(ward: Any) -> None:
    release_warnings(ward, "a", "x.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        dbanon.refresh_release(ward, "a", composition="refuse")


def test_renamed_table_recognized_after_reopening(ward: Any, tmp_path: Path) -> None:
    release_warnings(ward, "a", "p")
    ward.execute("ALTER TABLE p RENAME TO q; DELETE FROM dbanon.policy; CHECKPOINT")
    ward.close()
    with dbanon.connect(tmp_path / "ward.duckdb") as con, pytest.raises(errors.CompositionRefusedError):
        release_warnings(con, "b", "q", k=7)


def test_versions_of_undetermined_source_are_compared(ward: Any) -> None:
    """A view that computes its path is the same source for the next version, and another one under another name."""
    ward.execute("CREATE VIEW v AS FROM read_parquet('x' || '.parquet')")
    release_warnings(ward, "a", "v")
    ward.execute("COPY (SELECT * REPLACE (disease || ' ' AS disease) FROM p) TO 'x.parquet'")
    with pytest.raises(errors.CompositionRefusedError):
        dbanon.refresh_release(ward, "a", mode="recluster", composition="refuse")
    with pytest.raises(errors.CompositionRefusedError):
        release_warnings(ward, "b", "v", k=7)


def test_replacing_release_of_renamed_table_unknown_relation(ward: Any) -> None:
    release_warnings(ward, "a", "p")
    ward.execute("ALTER TABLE p RENAME TO q; DELETE FROM dbanon.policy; UPDATE q SET disease = upper(disease)")
    dbanon.declare(ward, "q", **ROLES)
    with pytest.raises(errors.UnknownRelationError, match="in a "):
        dbanon.create_release(
            ward, "a", "mondrian", "q", k=5, replace=True, allow_small_differences=True, composition="refuse"
        )


def test_hold_refresh_warns_once_of_unknown_relation(ward: Any) -> None:
    release_warnings(ward, "a", "p")
    release_warnings(ward, "b", "other")
    ward.execute("ALTER TABLE p RENAME TO q; INSERT INTO other VALUES (900, 900, 'rare'), (901, 20, 'flu')")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        dbanon.refresh_release(ward, "b", mode="hold")
    assert len([w for w in caught if "it is not known" in str(w.message)]) <= 1


def test_stream_warns_of_unknown_relation(ward: Any) -> None:
    release_warnings(ward, "a", "p")
    ward.execute("ALTER TABLE p RENAME TO q; DELETE FROM dbanon.policy")
    dbanon.declare(ward, "q", **ROLES)
    with pytest.warns(dbanon.DisclosureWarning, match="not known whether the same people are in a"):
        dbanon.create_stream(ward, "s", "fads", "q", k=5, delta=50, order_by="id")


@pytest.mark.parametrize("table", ["p", "visits"])
def test_release_of_renamed_related_table_unknown_relation(ward: Any, table: str) -> None:
    ward.execute("CREATE TABLE visits AS SELECT id, id % 4 AS month FROM p")
    dbanon.declare(ward, "p", **ROLES)
    dbanon.declare(ward, "visits", id="person", month="quasi")
    dbanon.relate(ward, "visits", "p", "id")
    dbanon.create_release(ward, "r", "kacpc", "p", k=5, children="visits")
    ward.execute(f"ALTER TABLE {table} RENAME TO q; DELETE FROM dbanon.policy; DELETE FROM dbanon.relation")
    dbanon.declare(ward, "q", **(ROLES if table == "p" else {"id": "person", "month": "quasi"}))
    with pytest.raises(errors.UnknownRelationError, match="in r "):
        dbanon.create_release(ward, "b", "mondrian", "q", k=5, composition="refuse")


@pytest.mark.parametrize("composition", ["refuse", "warn"])
def test_related_release_of_renamed_table_warned_or_refused(ward: Any, composition: str) -> None:
    ward.execute("CREATE TABLE visits AS SELECT id, id % 4 AS month FROM p")
    release_warnings(ward, "a", "p")
    ward.execute("ALTER TABLE p RENAME TO q; DELETE FROM dbanon.policy")
    dbanon.declare(ward, "q", **ROLES)
    dbanon.declare(ward, "visits", id="person", month="quasi")
    dbanon.relate(ward, "visits", "q", "id")

    def materialize() -> None:
        dbanon.create_release(ward, "r", "kacpc", "q", k=5, children="visits", composition=composition)

    if composition == "refuse":
        with pytest.raises(errors.UnknownRelationError):
            materialize()
    else:
        with pytest.warns(dbanon.DisclosureWarning, match="not known whether the same people are in a"):
            materialize()


def test_triple_quoted_file_name_of_earlier_ledger_recognized(ward: Any) -> None:
    """Earlier versions of the package wrote the path in three quotation marks."""
    path = str(Path("x.parquet").resolve())
    release_warnings(ward, "a", "x.parquet")
    ward.execute("UPDATE dbanon.release SET source_tables = [?]", [f'"""{path}"""'])
    with pytest.raises(errors.CompositionRefusedError):
        release_warnings(ward, "b", view_source("v", "FROM 'x.parquet'")(ward), k=7)
    assert ward.execute("SELECT source_tables FROM releases()").fetchall() == [([f'"""{path}"""'],)]
