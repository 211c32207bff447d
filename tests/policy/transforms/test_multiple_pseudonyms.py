"""Pseudonyms of several columns: different ones for equal values, persons counted by one, judged by all links."""

from __future__ import annotations

import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from oracle import metrics, together as oracle
from support.pseudonyms import SECRET, assert_refused

import dbanon
from dbanon import errors
from dbanon.gate import linked_patterns, pseudonyms
from dbanon.policy import column_roles
from dbanon.policy.transforms import pseudonymize
from dbanon.release.spec import transformed_columns
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import fill

PERSON = {"role": "pseudonym", "settings": {"person": "true"}}
CALL = "SELECT * FROM mondrian('stays', k=10)"


@pytest.fixture
def stays(empty_con: Any) -> Any:
    """Create two stays of each of 200 patients at one age, each stay of two days."""
    empty_con.execute("""CREATE OR REPLACE TABLE stays AS SELECT i AS patient, 2 * i + j AS stay, 20 + i % 4 AS age,
        ['Flu', 'HIV', 'Cold'][1 + (i // 4 + j) % 3] AS disease, 'w' || i % 2 AS ward
        FROM range(200) AS r (i), range(2) AS s (j), range(2) AS t (d)""")
    empty_con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(empty_con, "stays", patient=PERSON, stay="pseudonym", age="quasi", disease="sensitive")
    return empty_con


def test_columns_have_own_pseudonyms_and_persons_counted(stays: Any) -> None:
    rows = stays.sql(CALL).fetchall()
    assert stays.sql(CALL).columns == ["patient", "stay", "age", "disease", "class_id"]
    patients, values = {r[0] for r in rows}, {r[1] for r in rows}
    assert len(rows) == 800 and len(patients) == 200 and len(values) == 400 and not patients & values
    assert Counter(Counter((r[0], r[1]) for r in rows).values()) == {2: 400}
    mapping = dict(stays.sql("SELECT metric, value FROM mondrian_metrics('stays', k=10)").fetchall())
    assert (mapping["persons"], mapping["records"], mapping["linked_records"], mapping["k"]) == (200, 800, 800, 50)


def test_persons_counted_by_declared_column(stays: Any) -> None:
    assert_refused(stays, "FROM mondrian('stays', k=201)", "k must be between 2 and 200")
    for withheld in (["stay"], ["patient"], ["patient", "stay"]):
        assert_refused(stays, f"FROM mondrian('stays', k=201, withhold={withheld})", "k must be between 2 and 200")
        shown_columns = stays.sql(f"FROM mondrian('stays', k=10, withhold={withheld})").columns
        assert shown_columns == [c for c in ("patient", "stay", "age", "disease", "class_id") if c not in withheld]
    assert_refused(stays, "FROM mondrian('stays', k=10, person='stay')", "patient is declared pseudonym")
    assert "patient" not in stays.sql("FROM mondrian('stays', k=10, person='patient')").columns
    rows = stays.sql("SELECT achieved FROM anonymity('stays') WHERE model = 'k_anonymity'").fetchall()
    assert rows == [(50,)]


def test_unknown_person_column_refuses_release(stays: Any) -> None:
    dbanon.declare(stays, "stays", patient={"role": "pseudonym", "settings": {}})
    for call in (CALL, "FROM mondrian('stays', k=10, withhold=['stay'])", "FROM anonymity('stays')"):
        assert_refused(stays, call, "'patient', 'stay' of stays have the role pseudonym, and none is declared")
    dbanon.declare(stays, "stays", patient=PERSON, stay=PERSON)
    assert_refused(
        stays,
        CALL,
        "'patient', 'stay' of stays have the role pseudonym, and several are declared",
    )
    with pytest.raises(errors.InvalidTransformSettingError, match="person must be true, or omitted, got 'no'"):
        dbanon.declare(stays, "stays", stay={"role": "pseudonym", "settings": {"person": "no"}})


def test_person_role_counts_and_pseudonyms_have_own_scope(stays: Any) -> None:
    stays.execute("ALTER TABLE stays ADD COLUMN tax INTEGER")
    stays.execute("UPDATE stays SET tax = patient")
    dbanon.declare(stays, "stays", tax="person", patient="pseudonym")
    plan = dbanon.explain(stays, CALL)
    assert plan.count('\\"patient\\"]') and plan.count('\\"stay\\"]')
    assert len(stays.sql(CALL).fetchall()) == 800
    stays.execute("UPDATE stays SET tax = 0 WHERE patient < 100")
    assert_refused(stays, "FROM mondrian('stays', k=102)", "k must be between 2 and 101")


def test_columns_share_pseudonyms_only_if_declared(stays: Any) -> None:
    stays.execute("UPDATE stays SET stay = patient")
    rows = stays.sql(CALL).fetchall()
    assert not any(r[0] == r[1] for r in rows)
    scoped = {"role": "pseudonym", "settings": {"scope": "study"}}
    dbanon.declare(stays, "stays", patient={"role": "pseudonym", "settings": {"person": "true", "scope": "study"}},
                   stay=scoped)  # fmt: skip
    rows = stays.sql(CALL).fetchall()
    assert all(r[0] == r[1] for r in rows)
    dbanon.declare(stays, "stays", stay={"role": "pseudonym", "settings": {"scope": "study", "length": 40}})
    assert_refused(
        stays, CALL, "the pseudonyms 'patient', 'stay' of stays share a key and a scope but differ in format, length"
    )


def test_shared_scope_links_columns(stays: Any) -> None:
    """A mother is a patient, too: her children are linked with her."""
    stays.execute("ALTER TABLE stays ADD COLUMN mother INTEGER")
    stays.execute("UPDATE stays SET mother = patient + 1000")
    scoped = {"role": "pseudonym", "settings": {"scope": "study"}}
    dbanon.declare(stays, "stays", patient={"role": "pseudonym", "settings": {"person": "true", "scope": "study"}},
                   mother=scoped, stay="identifier")  # fmt: skip
    assert len(stays.sql(CALL).fetchall()) == 800
    stays.execute("UPDATE stays SET mother = 7 WHERE patient = 11")
    assert_refused(stays, CALL, "2 persons? of stays (is|are) singled out by their linked rows")
    dbanon.declare(stays, "stays", mother={"role": "pseudonym", "settings": {}}, patient=PERSON)
    assert len(stays.sql(CALL).fetchall()) == 800


@pytest.mark.parametrize(
    ("change", "persons"),
    [
        ("UPDATE stays SET stay = 0 WHERE patient = 0", 1),  # four days of one stay
        ("UPDATE stays SET stay = 0 WHERE patient = 4", 2),  # a stay of two patients
        ("UPDATE stays SET stay = NULL WHERE stay = 0", 1),
        ("INSERT INTO stays SELECT 0, 900, 20, 'Flu', 'w0'", 1),
    ],
)
def test_uniquely_linked_person_stops_release(stays: Any, change: str, persons: int) -> None:
    stays.execute(change)
    for kind in ("", "_classes", "_metrics"):
        message = f"{persons} persons? of stays (is|are) singled out by their linked rows: the pseudonyms patient, stay"
        assert_refused(stays, f"FROM mondrian{kind}('stays', k=10)", message)
    assert stays.sql("FROM mondrian('stays', k=10, withhold=['patient', 'stay'])").fetchall()


@pytest.mark.parametrize("macro", ["(a, b) AS 42", "(a, b) AS TABLE SELECT 42"])
def test_macro_struct_extract_does_not_change_release(stays: Any, macro: str) -> None:
    old_rows = stays.sql(CALL).fetchall()
    stays.execute(f"CREATE MACRO struct_extract{macro}")
    assert sorted(stays.sql(CALL).fetchall()) == sorted(old_rows)
    stays.execute(f"DROP MACRO {'TABLE' if 'TABLE' in macro else ''} memory.main.struct_extract")
    stays.execute("UPDATE stays SET age = 23 WHERE patient = 0 AND stay = 1")
    stays.execute(f"CREATE MACRO struct_extract{macro}")
    assert_refused(stays, CALL, "persons? of stays (is|are) singled out by their linked rows")


def test_values_linked_by_any_pseudonym_checked_together(stays: Any) -> None:
    dbanon.declare(stays, "stays", ward="insensitive")
    assert len(stays.sql(CALL).fetchall()) == 800
    stays.execute("UPDATE stays SET ward = 'w1' WHERE stay = 0")
    assert_refused(stays, CALL, "the linked rows of 1 person of stays have combined values")
    assert stays.sql("FROM mondrian('stays', k=10, allow_rare=['ward'])").fetchall()


def test_model_applies_to_every_position_in_component(stays: Any) -> None:
    """Twenty patients have a stay of three days, and HIV: a third of their class has HIV, but all with three days."""
    call = "FROM mondrian('stays', k=10, l=2)"
    assert stays.sql(call).fetchall()
    stays.execute("INSERT INTO stays SELECT DISTINCT patient, stay, age, disease, ward FROM stays "
                  "WHERE stay % 2 = 0 AND patient < 80")  # fmt: skip
    assert stays.sql(call).fetchall()
    stays.execute("UPDATE stays SET disease = 'HIV' WHERE age = 20 AND patient < 80 AND stay % 2 = 0")
    assert stays.sql("FROM mondrian('stays', k=10)").fetchall()
    assert_refused(
        stays, call, "do not meet l of disease for the linked rows of their persons: the pseudonyms patient, stay"
    )
    assert stays.sql("FROM mondrian('stays', k=10, l=2, withhold=['patient', 'stay'])").fetchall()


def test_each_pseudonym_length_must_suffice(stays: Any) -> None:
    dbanon.declare(stays, "stays", stay={"role": "pseudonym", "settings": {"format": "digits", "length": 4}})
    assert_refused(
        stays, CALL, "values of stays.stay would have a pseudonym that another value has too, with length = 4"
    )


# --- the gate -----------------------------------------------------------------------------------------------


Visit = tuple[int, int | None, int | None, int, str]
"""Patient, visit, household, age, disease."""


def visits(r: random.Random) -> list[Visit]:
    """Return households of two kinds, each three or four times; occasionally one value of one of them differs."""
    rows: list[Visit] = []
    for kind in range(2):
        shape = [(r.randrange(2), r.choice([None, 0, 1, 2]), r.choice([20, 21])) for _ in range(r.randrange(1, 5))]
        house = r.choice([True, True, False])
        for copy in range(4 * kind, 4 * kind + r.choice([3, 4])):
            own_copy = copy if house else None
            for person, visit, age in shape:
                rows.append(
                    (2 * copy + person, None if visit is None else 10 * copy + visit, own_copy, age, r.choice("xy"))
                )
    for _ in range(r.choice([0, 0, 1, 2])):
        randrange = r.randrange(len(rows))
        person, visit, house_of, age, disease = rows[randrange]
        rows[randrange] = r.choice([
            (person, visit, house_of, 41 - age, disease), (person, 5, house_of, age, disease),
            (person, None, house_of, age, disease), (person, visit, 5, age, disease),
            (person ^ 1, visit, house_of, age, disease),
        ])  # fmt: skip
    return rows + [(1000 + i, 1000 + i, 1000 + i, 20 + i % 2, "xy"[i // 2 % 2]) for i in range(40)]


def is_alone(published_rows: list[tuple[int, int, int | None, int | None]], k: int) -> bool:
    """Return whether some component is equal to fewer than k: (class, patient, visit, household) of records."""
    names = [
        (age, *(None if n is None else f"{c}{n}" for c, n in zip("pvh", numbers, strict=True)))
        for age, *numbers in published_rows
    ]
    rows = [(str(age), size, links) for (age, *links_), size in Counter(names).items() for links in [tuple(links_)]]
    equal_result, parts = oracle.equal_rows(rows), oracle.components(rows)
    own_values_by_row = {row: i for i, part in enumerate(parts) for row in part}
    return any(len({own_values_by_row[other] for other in equal_result[row]}) < k for row in rows)


@pytest.mark.parametrize("seed", range(80))
def test_gate_refuses_rows_every_overlay_distinguishes(empty_con: Any, seed: int) -> None:
    """A release is refused if and only if some component equals fewer than k, where the patient is shown."""
    r = random.Random(seed)
    table = visits(r)
    empty_con.execute("CREATE OR REPLACE TABLE calls (patient INTEGER, visit INTEGER, house INTEGER, age INTEGER, "
                   "disease VARCHAR)")  # fmt: skip
    empty_con.executemany("INSERT INTO calls VALUES (?, ?, ?, ?, ?)", table)
    empty_con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(empty_con, "calls", patient=PERSON, visit="pseudonym", house="pseudonym", age="quasi",
                   disease="sensitive")  # fmt: skip
    plain_relation = empty_con.sql(
        "SELECT DISTINCT age FROM mondrian('calls', k=3, withhold=['patient', 'visit', 'house'])"
    )
    cut_result = sorted(plain_relation.fetchall()) == [("20",), ("21",)]
    alone = is_alone([(age if cut_result else 20, *rest) for *rest, age, _ in table], 3)
    try:
        rows = empty_con.sql("SELECT patient, visit, house FROM mondrian('calls', k=3)").fetchall()
    except Exception as error:
        assert alone and re.search("(is|are) singled out by their linked rows", str(error))
    else:
        assert not alone
        (row,) = empty_con.sql(
            "SELECT value FROM mondrian_metrics('calls', k=3) WHERE metric = 'linked_records'"
        ).fetchall()
        assert row[0] == metrics.n_linked(rows)


def test_gate_refuses_pseudonyms_of_wrong_scope(stays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Pseudonyms that are those of another column, or of a shared scope, violate the policy."""
    monkeypatch.setattr(transformed_columns, "column_scope", lambda scope, _: scope)
    assert_refused(stays, CALL, "release gate refused the result")
    monkeypatch.undo()
    monkeypatch.setenv("DBANON_KEY", SECRET)
    monkeypatch.setattr(pseudonymize, "compute_pseudonyms", lambda values, *_: [v and "P" for v in values])
    assert_refused(stays, CALL, "release gate refused the result|would have a pseudonym that another")


def test_gate_counts_persons_by_policy_column(stays: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_roles, "_person_pseudonym", lambda *_: "stay")
    for call in (CALL, "FROM mondrian('stays', k=10, withhold=['patient', 'stay'])"):
        assert_refused(
            stays, call, "release gate refused the result: columns of persons that are not used for counting"
        )


def test_household_of_null_persons_checked(empty_con: Any) -> None:
    """A missing person cannot be counted as unique, but readers see a unique household."""
    empty_con.execute(
        "CREATE OR REPLACE TABLE homes AS SELECT i AS who, i // 2 AS house, 20 AS age FROM range(80) r(i)"
    )
    empty_con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(empty_con, "homes", who="person", house="pseudonym", age="quasi")
    assert len(empty_con.sql("FROM mondrian('homes', k=10)").fetchall()) == 80
    empty_con.execute("INSERT INTO homes SELECT NULL, 500, 20 FROM range(3)")
    assert_refused(empty_con, "FROM mondrian('homes', k=10)", "persons of homes are singled out by their linked rows")


def test_persons_counted_within_household(empty_con: Any) -> None:
    """Six households of two, one of each age: twelve persons have such a household, and six of them are of one age."""
    empty_con.execute("CREATE OR REPLACE TABLE homes AS SELECT i AS who, i // 2 AS house, 20 + i % 2 * 20 AS age "
                   "FROM range(12) AS r (i) UNION ALL "
                   "SELECT 100 + i, 100 + i, 20 + i % 2 * 20 FROM range(80) AS r (i)")  # fmt: skip
    empty_con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(empty_con, "homes", who="person", house="pseudonym", age="quasi")
    assert_refused(
        empty_con, "FROM mondrian('homes', k=10)", "12 persons of homes are singled out by their linked rows"
    )
    assert empty_con.sql("FROM mondrian('homes', k=6)").fetchall()


# --- the metric ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_linked_counts_records_sharing_pseudonym(empty_con: Any, seed: int) -> None:
    r = random.Random(seed)
    columns, values = r.choice([1, 1, 2, 3]), r.choice([3, 9, 40])
    rows = [
        (r.choice([1, 1, 1, 2]), [r.choice([None, str(r.randrange(values)), str(r.randrange(values))])
                                  for _ in range(columns)])
        for _ in range(r.randrange(30))
    ]  # fmt: skip
    names = ", ".join(f"u{i} VARCHAR" for i in range(columns))
    empty_con.execute(f"CREATE OR REPLACE TEMP TABLE released_values (size BIGINT, {names})")
    for size, links in rows:
        empty_con.execute(f"INSERT INTO released_values VALUES (?{', ?' * columns})", [size, *links])
    query = fill(
        "release/metrics/linked_records.sql",
        metric_name=Sql("'linked_records'"),
        pseudonym_columns=[{"column": Sql(f"u{i}")} for i in range(columns)],
    )
    (row,) = empty_con.sql(query).fetchall()
    records = [tuple(links) for size, links in rows for _ in range(size)]
    assert row == ("linked_records", None, metrics.n_linked(records))


@pytest.mark.parametrize("seed", range(12))
def test_linked_records_metric_counts_released_records(empty_con: Any, seed: int) -> None:
    """Counted by the identifiers of the source, not by pseudonyms; records without one are not linked."""
    r = random.Random(seed)
    often = [1, r.choice([1, 2]), r.choice([2, 3])]
    rows = [(20 + i % 2, i) for i in range(60) for _ in range(often[i // 20])] + [(21, None)] * 20
    empty_con.execute("CREATE OR REPLACE TABLE calls (age INTEGER, caller INTEGER)")
    empty_con.executemany("INSERT INTO calls VALUES (?, ?)", rows)
    empty_con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(empty_con, "calls", age="quasi", caller="pseudonym")
    (row,) = empty_con.sql(
        "SELECT value FROM mondrian_metrics('calls', k=5) WHERE metric = 'linked_records'"
    ).fetchall()
    assert row[0] == metrics.n_linked([(None if c is None else str(c),) for _, c in rows]) > 0


# --- versions -----------------------------------------------------------------------------------------------


def test_release_with_two_pseudonyms_cannot_be_refreshed(tmp_path: Path) -> None:
    with dbanon.connect(str(tmp_path / "clinic.duckdb")) as con:
        con.execute("CREATE TABLE stays AS SELECT i AS patient, i AS stay, 20 + i % 4 AS age FROM range(200) r (i)")
        dbanon.declare(con, "stays", patient=PERSON, stay="pseudonym", age="quasi")
        dbanon.create_release(con, "safe", "kacpc", "stays", k=10)
        assert con.sql("SELECT count(DISTINCT patient), count(DISTINCT stay) FROM safe").fetchall() == [(200, 200)]
        certificate_text = dbanon.certificate(con, "safe", "text")
        assert (
            "pseudonym of stay" in certificate_text
            and "readers see which records share a pseudonym" in certificate_text
        )
        assert con.sql("FROM risk('safe') LIMIT 1").fetchall()
        assert con.sql("SELECT status FROM release_status()").fetchall() == [("fresh",)]
        con.execute("INSERT INTO stays SELECT 500 + i, 500 + i, 20 + i % 4 FROM range(40) r (i)")
        with pytest.raises(errors.LinkedVersionsNotAnonymousError, match="they have pseudonyms of several columns"):
            dbanon.refresh_release(con, "safe")
        dbanon.create_release(con, "later", "kacpc", "stays", k=10)
        both = con.sql("SELECT patient FROM safe INTERSECT SELECT patient FROM later").fetchall()
        assert both == [] and con.sql("SELECT count(*) FROM later").fetchall() == [(240,)]


def test_gate_receives_component_parts(empty_con: Any) -> None:
    rows = [linked_patterns.LinkedRow("1", 1, ("a", None)), linked_patterns.LinkedRow("1", 1, ("b", "b"))]
    ages_text = ", ".join(f"{{'label': '{r.label}', 'size': {r.size}, 'links': {list(r.links)!r}}}" for r in rows)
    ages_text = ages_text.replace("None", "NULL")
    assert empty_con.sql(f"SELECT dbanon_together([{ages_text}])").fetchall() == [
        (linked_patterns.pattern_numbers(rows),)
    ]
    assert pseudonyms.__doc__ is not None and empty_con.sql("SELECT dbanon_together(NULL)").fetchall() == [([],)]
