"""The certificate describes the release, and its SQL recomputes every number in a plain DuckDB."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.reader_settings import READER_SETTINGS, apply_settings

import dbanon

DISEASES = ("Flu", "Cold", "HIV", "TB", None)
TREE = [["Flu", "airway", "*"], ["Cold", "airway", "*"], ["TB", "airway", "*"], ["HIV", "blood", "*"]]


def build(path: Path, rows: int = 240, seed: int = 3) -> Any:
    """Create a clinic in a file: visits of people, two sensitive columns, columns with awkward names."""
    con = dbanon.connect(path)
    con.execute(
        "CREATE TABLE visits (pid INTEGER, name VARCHAR, age INTEGER, size VARCHAR, records VARCHAR, "
        "disease VARCHAR, value INTEGER, ward VARCHAR)"
    )
    r = random.Random(seed)
    con.executemany(
        "INSERT INTO visits VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        [
            (r.randrange(rows // 2), f"Name{i}", r.choice([None, *range(20, 80)]), r.choice("SML"), r.choice("ab"),
             r.choice(DISEASES), r.choice([None, *range(10, 60, 10)]), "west")
            for i in range(rows)
        ],
    )  # fmt: skip
    dbanon.load_hierarchy(con, "diseases", TREE)
    dbanon.declare(
        con,
        "visits",
        name="identifier",
        age="quasi",
        size="quasi",
        records="quasi",
        disease=("sensitive", "diseases"),
        value="sensitive",
        ward="insensitive",
    )
    return con


def numbers(con: Any, name: str) -> list[tuple[str, str, str, str]]:
    rows = con.execute(f"FROM certificate('{name}')").fetchall()
    assert all(len(row) == 4 for row in rows)
    return [row for row in rows if row[3] is not None]


def check_recomputed(con: Any, lines: list[tuple[str, str, str, str]], settings: Any = ()) -> None:
    for section, element, value, sql in lines:
        rows = con.execute(sql).fetchall()
        assert len(rows) == 1 and len(rows[0]) == 1, element
        assert float(rows[0][0]) == pytest.approx(float(value), rel=1e-9, abs=1e-9), (settings, section, element, sql)


def recomputed(path: Path, lines: list[tuple[str, str, str, str]]) -> int:
    """Run every SQL of a certificate in a DuckDB without dbanon; return how many were not mere lookups.

    It is run under the default settings, and again under settings that change what SQL means.
    """
    with duckdb.connect(path, read_only=True) as plain_con:
        check_recomputed(plain_con, lines)
        for settings in READER_SETTINGS:
            with apply_settings(plain_con, settings):
                check_recomputed(plain_con, lines, settings)
    return sum("as it was measured" not in sql for *_, sql in lines)


CALLS: list[dict[str, Any]] = [
    {"k": 5},
    {"k": 3, "l": 2, "t": 0.8, "ground_distance": "ordered", "alpha": 0.9, "p": 2, "beta": 9,
    "suppress": 0.1, "nulls": "drop"},
    {"k": 4, "l": 2, "diversity": "entropy", "t": 0.9, "ground_distance": "hierarchical", "sensitive": ["disease"],
     "withhold": ["value"]},
    {"k": 4, "l": 2, "diversity": "recursive", "c": 3.0, "t": 0.9, "intervals": "bounds"},
    {"k": 2, "l": 2, "alpha": 0.9, "multi_sensitive": "joint", "sensitive": ["disease", "value"], "suppress": 0.2},
    {"k": 5, "beta": 8, "likeness": "basic", "nulls": "drop", "intervals": "struct"},
    {"k": 3, "person": "pid", "l": 2, "suppress": 0.1},
]  # fmt: skip


@pytest.mark.parametrize("call", CALLS, ids=lambda c: "-".join(c))
@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])
def test_certificate_sql_recomputes_numbers_in_plain_duckdb(
    call: dict[str, Any], algorithm: str, tmp_path: Path
) -> None:
    path = tmp_path / "clinic.duckdb"
    with build(path) as con:
        if call.get("ground_distance") == "hierarchical" or call.get("multi_sensitive"):
            con.execute("DELETE FROM visits WHERE disease IS NULL OR value IS NULL")
        dbanon.create_release(con, "safe", algorithm, "visits", **call)
        metrics = dict(con.execute("SELECT metric, value FROM safe_metrics").fetchall())
        lines = numbers(con, "safe")
    values = {(section, element): value for section, element, value, _ in lines}
    assert float(values["achieved", "k"]) == metrics["k"] >= call["k"]
    assert float(values["risk", "prosecutor, highest"]) == pytest.approx(metrics["risk_highest"])
    assert float(values["risk", "prosecutor, share of records above 1/k"]) == 0
    own_part = recomputed(path, lines)
    if "person" not in call:
        assert own_part == len(lines) - ("suppress" not in call), "only what suppress = 0 leaves out is looked up"


@pytest.mark.parametrize(
    ("people", "pseudonym", "recomputed_items"),
    [
        (240, False, True),  # one record each: count(*) counts persons
        (60, True, True),  # pseudonyms are published: they can be counted
        (60, False, False),  # only the custodian can count persons
    ],
)
def test_certificate_recomputes_persons_if_revealed(
    people: int, pseudonym: bool, recomputed_items: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBANON_KEY", random.Random(1).randbytes(32).hex())
    with dbanon.connect(tmp_path / "clinic.duckdb") as con:
        con.execute(
            f"CREATE TABLE visits AS SELECT 'p' || i % {people} AS pid, 20 + i % 60 // 6 AS age, i % 2 AS sex, "
            "['Flu', 'Cold', 'TB'][1 + i % 3] AS disease FROM range(240) AS r (i)"
        )
        con.execute(
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('visits', 'pid', ?), "
            "('visits', 'age', 'quasi'), ('visits', 'sex', 'quasi'), ('visits', 'disease', 'sensitive')",
            ["pseudonym" if pseudonym else "person"],
        )
        dbanon.create_release(con, "safe", "mondrian", "visits", k=5)
        metrics = dict(con.execute("SELECT metric, value FROM safe_metrics").fetchall())
        dbanon.publish(con, "safe", tmp_path / "out.duckdb")
    with duckdb.connect(str(tmp_path / "out.duckdb"), read_only=True) as out:
        lines = out.execute("FROM safe_certificate").fetchall()
        persons = [line for line in lines if line[3] and (line[1] in ("k", "persons") or "prosecutor" in line[1])]
        assert len(persons) >= 4
        for _, element, value, sql in persons:
            assert float(out.execute(sql).fetchall()[0][0]) == pytest.approx(float(value)), element
            assert ("as it was measured" not in sql) == recomputed_items, (element, sql)
        assert "tables do not" not in str(lines) and metrics["persons"] == people


@pytest.mark.not_everyday
def test_publish_accepts_release_under_integer_division(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "clinic.duckdb") as con:
        con.execute("CREATE TABLE visits AS SELECT 20 + i // 5 * 5 AS age, i % 3 AS ward FROM range(20) AS r (i)")
        dbanon.create_release(con, "safe", "mondrian", "visits", k=5, qi=["age"], sensitive=["ward"], alpha=0.9)
        con.execute("SET GLOBAL integer_division = true")
        dbanon.publish(con, "safe", tmp_path / "safe.parquet")
        lines = {(s, i): (v, sql) for s, i, v, sql in numbers(con, "safe")}
    for place, expected in ((("risk", "prosecutor, average"), 0.2), (("achieved", "alpha of ward"), 0.4)):
        value, sql = lines[place]
        with duckdb.connect(tmp_path / "clinic.duckdb", config={"integer_division": True}) as plain_con:
            assert plain_con.execute(sql).fetchall() == [(pytest.approx(expected),)]
        assert float(value) == pytest.approx(expected)


def test_certificate_prosecutor_and_marketer_risk_by_hand(tmp_path: Path) -> None:
    with dbanon.connect(tmp_path / "tiny.duckdb") as tiny:
        tiny.execute("CREATE TABLE t AS SELECT i AS id, CASE WHEN i < 2 THEN 'a' ELSE 'b' END AS q FROM range(6) r(i)")
        dbanon.declare(tiny, "t", q="quasi")
        dbanon.create_release(tiny, "safe", "mondrian", "t", k=2)
        values = {(s, i): float(v) for s, i, v, _ in numbers(tiny, "safe")}
    assert values["risk", "prosecutor, highest"] == 0.5
    assert values["risk", "prosecutor, average"] == pytest.approx((2 * 0.5 + 4 * 0.25) / 6)
    assert values["risk", "marketer, average"] == pytest.approx(2 / 6)


def test_certificate_states_release_and_unprotected_risks(tmp_path: Path) -> None:
    with build(tmp_path / "clinic.duckdb") as con:
        dbanon.create_release(con, "safe", "kacpc", "visits", k=5, l=2)
        document = json.loads(dbanon.certificate(con, "safe", "json"))
        certificate_text = dbanon.certificate(con, "safe")
        rows = con.execute("SELECT section, item, value FROM certificate('safe')").fetchall()
    assert [(s, i, document[s][i]["value"]) for s, i, _ in rows] == rows
    assert document["release"]["source"]["value"] == '"main"."visits"'
    assert document["release"]["source records"]["value"] == "240"
    assert document["roles"]["disease"]["value"] == "sensitive" and document["roles"]["pid"]["value"] == "withheld"
    assert document["withheld"]["columns"]["value"] == "pid, name"
    assert document["parameters"]["l"]["value"] == "2"
    assert "gate" in document["model"]["verified"]["value"]
    assert "records" in document["model"]["counted"]["value"]
    for limit in ("homogeneity", "background knowledge", "composition", "minimality and downcoding"):
        assert limit in document["not protected"]
        assert limit in certificate_text
    assert "people with several records" in document["not protected"]
    assert document["other releases"]["composition"]["value"].startswith("not checkable")


@pytest.mark.not_everyday
def test_certificate_counts_persons_with_person_column(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with build(path) as con:
        dbanon.create_release(con, "safe", "kacpc", "visits", k=5, person="pid")
        document = json.loads(dbanon.certificate(con, "safe", "json"))
        persons = con.execute("SELECT count(DISTINCT pid) FROM visits").fetchall()[0][0]
    assert "distinct persons" in document["model"]["counted"]["value"]
    assert "people with several records" not in document["not protected"]
    assert float(document["achieved"]["persons"]["value"]) == persons
    assert "persons" in document["achieved"]["k"]["sql"]


@pytest.mark.not_everyday
def test_certificate_reports_versions_and_other_releases(tmp_path: Path) -> None:
    with build(tmp_path / "clinic.duckdb") as con, pytest.warns(dbanon.DisclosureWarning):
        dbanon.create_release(con, "safe", "kacpc", "visits", k=5, person="pid")
        dbanon.create_release(con, "other", "mondrian", "visits", k=4, person="pid")
        dbanon.refresh_release(con, "safe", mode="recluster", allow_small_differences=True)
        document = json.loads(dbanon.certificate(con, "safe", "json"))
    assert "people with other version 1" in document["other releases"]["composition"]["value"]
    assert document["release"]["version"]["value"] == "2"
    assert "clustered again" in document["other releases"]["version before"]["value"]
    assert (
        "allowed when it was created" in document["other releases"]["classes that differ by too few records"]["value"]
    )


@pytest.mark.not_everyday
def test_certificate_available_after_source_is_dropped(tmp_path: Path) -> None:
    path = tmp_path / "clinic.duckdb"
    with build(path) as con:
        dbanon.create_release(con, "safe", "kacpc", "visits", k=5, t=0.9, ground_distance="ordered")
        con.execute("DROP TABLE visits")
        lines = numbers(con, "safe")
        dbanon.certificate(con, "safe")
    recomputed(path, lines)


@pytest.mark.not_everyday
def test_certificate_of_dropped_or_unknown_release_refused(tmp_path: Path) -> None:
    with build(tmp_path / "clinic.duckdb") as con:
        with pytest.raises(dbanon.DbanonError, match="no published release safe"):
            dbanon.certificate(con, "safe")
        dbanon.create_release(con, "safe", "kacpc", "visits", k=5)
        with pytest.raises(dbanon.DbanonError, match="form must be one of 'text', 'json'"):
            dbanon.certificate(con, "safe", "xml")
        with pytest.raises(duckdb.Error, match="Did you mean 'safe'"):
            con.execute("FROM certificate('saef')")
        dbanon.drop_release(con, "safe")
        with pytest.raises(dbanon.DbanonError, match="no published release safe"):
            dbanon.certificate(con, "safe")


@pytest.mark.not_everyday
def test_hostile_name_cannot_end_comment_in_certificate_sql(tmp_path: Path) -> None:
    """Running the SQL to recompute the numbers runs nothing else."""
    end = "\r\u2028\x0b\x85*/\n"
    column = f"d{end}CREATE TABLE pwned AS SELECT 1; -- \x1b[2J"
    path = tmp_path / "clinic.duckdb"
    with dbanon.connect(path) as con:
        con.execute(f'CREATE TABLE t AS SELECT i % 4 AS q, i % 3 AS "{column}" FROM range(40) AS r (i)')
        dbanon.declare(con, "t", **{"q": "quasi", column: "sensitive"})
        dbanon.create_release(con, f"safe{end}x", "mondrian", "t", k=5, l=2)
        certificate_text = dbanon.certificate(con, f"safe{end}x")
    script = certificate_text[certificate_text.index("how to recompute the numbers") :].split("\n", 1)[1]
    assert script.count(";\n-- ") > 10
    with duckdb.connect(path) as plain_con:
        plain_con.execute(script)
        assert plain_con.execute("FROM duckdb_tables() WHERE table_name = 'pwned'").fetchall() == []
    comments = [line for line in script.split("\n") if line.startswith("-- ") and "CREATE TABLE" in line]
    assert comments and all(line.isprintable() for line in comments)
