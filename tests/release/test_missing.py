"""Codes for missing values, `missing_codes = ['NA', 999]`, are NULL wherever the source is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

import dbanon
from dbanon.policy import column_roles
from dbanon.release.spec import release_spec
from dbanon.source import missing_codes
from dbanon.sqltext.quote import Sql, identifier, text

REFUSED = "release gate refused the result"

CODED = """
    CREATE OR REPLACE TABLE coded AS SELECT
        i // 2 AS pid, CASE WHEN i % 8 = 0 THEN 999 ELSE 20 + i * 7 % 30 END AS age,
        ['Rome', 'Oslo', 'NA', 'Bonn', '?'][1 + i % 5] AS town,
        CASE WHEN i % 9 = 0 THEN '-' ELSE ['Flu', 'HIV'][1 + i % 2] END AS disease,
        CASE WHEN i % 4 = 0 THEN '' ELSE 'w' END AS ward
    FROM range(80) AS r (i)
"""
PLAIN = """
    CREATE OR REPLACE TABLE plain AS SELECT
        pid, nullif(age, 999) AS age, CASE WHEN town NOT IN ('NA', '?') THEN town END AS town,
        nullif(disease, '-') AS disease, nullif(ward, '') AS ward
    FROM coded
"""
ROLES = {"pid": "person", "age": "quasi", "town": "quasi", "disease": "sensitive", "ward": "insensitive"}
CODES = {"age": [999], "town": ["NA", "?"], "disease": ["-"], "ward": [""]}


@pytest.fixture
def coded_and_plain(con: Any) -> Any:
    """Create the table `coded` with declared codes, and `plain`, which has NULL in their place."""
    con.execute(CODED)
    con.execute(PLAIN)
    dbanon.declare(con, "coded", **{c: {"role": r, "missing_codes": CODES.get(c)} for c, r in ROLES.items()})
    dbanon.declare(con, "plain", **ROLES)
    return con


def rows(con: Any, query: str) -> list[Any]:
    return list(con.execute(query).fetchall())


CALLS = [
    "kacpc('{}', k := 4)",
    "kacpc_classes('{}', k := 4, l := 2)",
    "mondrian('{}', k := 3, t := 0.4, nulls := 'drop')",
    "kacpc('{}', k := 3, person := 'pid', suppress := 0.2, intervals := 'bounds')",
    "kacpc_metrics('{}', k := 3, p := 2, with_kl_divergence := true) WHERE NOT starts_with(metric, "
    "'missing_code_records:')",
    "inference('{}', k := 3)",
    "rka('{}', k := 4, release := 'noise', seed := 3)",
]


@pytest.mark.parametrize("call", CALLS)
def test_codes_equal_table_with_null(coded_and_plain: Any, call: str) -> None:
    expected = rows(coded_and_plain, f"FROM {call.format('plain')}")
    assert expected
    assert rows(coded_and_plain, f"FROM {call.format('coded')}") == expected


def test_codes_in_view_and_file_equal_table_with_null(coded_and_plain: Any, tmp_path: Path) -> None:
    coded_and_plain.execute("CREATE VIEW seen AS FROM coded")
    dbanon.declare(coded_and_plain, "seen", **{c: {"role": r, "missing_codes": CODES.get(c)} for c, r in ROLES.items()})
    coded_and_plain.execute(f"COPY coded TO {text(str(tmp_path / 'coded.parquet'))}")
    expected = rows(coded_and_plain, "FROM kacpc('plain', k := 4)")
    assert rows(coded_and_plain, "FROM kacpc('seen', k := 4)") == expected
    roles = "person := 'pid', qi := ['age', 'town'], sensitive := ['disease'], insensitive := ['ward']"
    codes = "missing_codes := {'age': ['999'], 'town': ['NA', '?'], 'disease': ['-'], 'ward': ['']}"
    actual_rows = rows(
        coded_and_plain, f"FROM kacpc({text(str(tmp_path / 'coded.parquet'))}, k := 4, {roles}, {codes})"
    )
    assert actual_rows == expected


def test_call_adds_codes_but_removes_none(coded_and_plain: Any) -> None:
    dbanon.declare(
        coded_and_plain, "coded", town={"role": "quasi", "missing_codes": "NA"}, disease="sensitive", ward="insensitive"
    )
    expected = rows(coded_and_plain, "FROM kacpc('plain', k := 4)")
    assert rows(coded_and_plain, "FROM kacpc('coded', k := 4)") != expected
    assert rows(coded_and_plain, "FROM kacpc('coded', k := 4, missing_codes := ['?', '-', ''])") == expected
    each_text = "{'town': ['?'], 'DISEASE': ['-'], 'ward': [''], 'age': []}"
    assert rows(coded_and_plain, f"FROM kacpc('coded', k := 4, missing_codes := {each_text})") == expected


def test_codes_of_all_columns_exclude_person(con: Any) -> None:
    """Person 999 is a person; as a code of that column it is an unknown person, who counts no more than NULL."""
    con.execute("CREATE TABLE t AS SELECT 996 + i AS pid, 30 AS age FROM range(4) AS r (i)")
    call = "kacpc_metrics('t', k := {}, qi := ['age'], person := 'pid', missing_codes := {})"
    assert ("k", 4.0) in rows(con, "SELECT metric, value FROM " + call.format(4, "['999']"))
    assert ("k", 3.0) in rows(con, "SELECT metric, value FROM " + call.format(3, "{'pid': ['999']}"))
    with pytest.raises(duckdb.Error, match="k must be between 2 and 3"):
        rows(con, "FROM " + call.format(4, "{'pid': ['999']}"))


TYPES: list[tuple[str, list[str], str, int]] = [
    ("INTEGER", ["999", "1", "-999"], "999", 1),
    ("INTEGER", ["999", "1", "1000"], "999.0", 1),
    ("INTEGER", ["1000", "999"], "999.5", 0),
    ("INTEGER", ["999", "1"], "9.99e2", 1),
    ("UTINYINT", ["9", "1"], "999", 0),
    ("UHUGEINT", ["340282366920938463463374607431768211455", "1"], "340282366920938463463374607431768211455", 1),
    ("BIGINT", ["9007199254740993", "9007199254740992"], "9007199254740993", 1),
    ("DECIMAL(6, 2)", ["9.99", "-0.50", "0"], "9.990", 1),
    ("DECIMAL(6, 2)", ["9.99", "-0.50", "0"], "-.5", 1),
    ("DECIMAL(6, 2)", ["9.99", "0.00"], "9.991", 0),
    ("DECIMAL(3, 3)", ["0.5", "0.25"], "0.5", 1),
    ("DOUBLE", ["999", "0.1", "-0.0", "0.0"], "0", 2),
    ("DOUBLE", ["999", "0.1", "nan"], "NaN", 1),
    ("DOUBLE", ["1e300", "1"], "1e400", 0),
    ("FLOAT", ["0.1", "1"], "0.1", 1),
    ("DATE", ["1900-01-01", "2020-02-29"], "1900-01-01", 1),
    ("DATE", ["1900-01-01", "2020-02-29"], "1900-01-01 00:00:00", 1),
    ("DATE", ["1900-01-01", "2020-02-29"], "1900-01-01 12:00", 0),
    ("DATE", ["1900-01-01", "2020-02-29"], "2021-02-29", 0),
    ("TIMESTAMP", ["1900-01-01 00:00:01", "2020-01-01"], "1900-01-01 00:00:01.000", 1),
    ("TIMESTAMP_S", ["1900-01-01 00:00:01", "2020-01-01"], "1900-01-01 00:00:00.9", 0),
    ("TIMESTAMP_NS", ["1900-01-01 00:00:00.000000001", "2020-01-01"], "1900-01-01 00:00:00.000000001", 1),
    ("TIMESTAMP WITH TIME ZONE", ["1900-01-01 00:00:00+00", "2020-01-01 00:00:00+00"], "1900-01-01", 1),
    ("TIME", ["00:00:00", "12:30:00"], "00:00", 1),
    ("VARCHAR", ["NA", "na", " NA", ""], "NA", 1),
    ("VARCHAR", ["NA", "na", " NA", ""], "", 1),
    ("VARCHAR", ['it\'s "so"', "🙂", "a"], 'it\'s "so"', 1),
    ("VARCHAR", ["it's", "🙂", "a"], "🙂", 1),
    ("VARCHAR COLLATE NOCASE", ["NA", "na", "b"], "NA", 1),
    ("VARCHAR", ["999", "999.0"], "999", 1),
    ("BOOLEAN", ["true", "false"], "0", 0),
    ("BOOLEAN", ["true", "false"], "FALSE", 1),
    ("ENUM('NA', 'b')", ["NA", "b", "b"], "NA", 1),
    ("ENUM('NA', 'b')", ["NA", "b", "b"], "c", 0),
    (
        "UUID",
        ["00000000-0000-0000-0000-000000000000", "00000000-0000-0000-0000-00000000000a"],
        "00000000-0000-0000-0000-00000000000A",
        1,
    ),
]


def _insert_values(con: Any, type_: str, values: list[str]) -> None:
    plain_type = type_.split(" COLL")[0]  # an unchanged column must not have a collation
    con.execute(f"CREATE OR REPLACE TABLE t (x {type_}, u {plain_type}, n INTEGER)")
    for value in values * 3:
        con.execute(f"INSERT INTO t SELECT CAST({text(value)} AS {plain_type}) AS x, x, 1")


@pytest.mark.parametrize(("type_", "values", "code", "hits"), TYPES)
def test_code_is_column_value_of_any_type(con: Any, type_: str, values: list[str], code: str, hits: int) -> None:
    """Both the plan and the gate, which reads codes by itself; as a quasi-identifier and unchanged."""
    _insert_values(con, type_, values)
    call = f"('t', k := 2, qi := ['x', 'n'], sensitive := ['u'], missing_codes := [{text(code)}])"
    released_rows = rows(con, f"SELECT count(*) - count(u) FROM kacpc{call}")
    assert released_rows == [(3 * hits,)]
    mapping = dict(rows(con, f"SELECT metric, value FROM kacpc_metrics{call}"))
    assert mapping.get("missing_code_records:x", 0) == mapping.get("missing_code_records:u", 0) == 3 * hits
    named_text = call.replace(f"[{text(code)}]", f"{{'x': [{text(code)}]}}")
    if "missing_code_records:x" in mapping:
        assert rows(con, f"SELECT count(*) FROM kacpc{named_text}") == [(3 * len(values),)]
    else:
        with pytest.raises(duckdb.Error, match=r"missing_codes does not fit t\.x: .* is not a value of type"):
            rows(con, f"FROM kacpc{named_text}")


@pytest.mark.parametrize("type_", ["INTEGER[]", "STRUCT(a INTEGER)", "INTERVAL", "BLOB", "JSON"])
def test_codes_for_nested_type_refused(con: Any, type_: str) -> None:
    con.execute(f"CREATE TABLE t AS SELECT 1 AS x, NULL::{type_} AS u FROM range(4)")
    call = "FROM kacpc('t', k := 2, qi := ['x'], insensitive := ['u'], missing_codes := {})"
    assert len(rows(con, call.format("['9', 'NA', '[9]', '{}']"))) == 4
    with pytest.raises(duckdb.Error, match=r"missing_codes does not fit t\.u: no code is compared with values of type"):
        rows(con, call.format("{'u': ['1']}"))


def test_hundred_codes_of_column_become_null(con: Any) -> None:
    con.execute("CREATE TABLE t AS SELECT (i // 2)::DOUBLE AS x, -5 AS n FROM range(400) AS r (i)")
    con.execute("UPDATE t SET x = -0.0 WHERE x = 0")
    codes = ", ".join(f"'{i}'" for i in range(100))
    actual_rows = rows(
        con, f"SELECT count(*) FROM kacpc('t', k := 2, qi := ['x', 'n'], missing_codes := [{codes}]) WHERE x IS NULL"
    )
    assert actual_rows == [(200,)]


# --- given codes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("codes", ["true", "[NULL]", "['NA', NULL]", "[['NA']]", "{'age': [true]}", "{'age': [NULL]}"])
def test_invalid_code_refused(coded_and_plain: Any, codes: str) -> None:
    with pytest.raises(duckdb.Error, match="missing_codes must be a list of codes, such as"):
        rows(coded_and_plain, f"FROM kacpc('coded', k := 4, missing_codes := {codes})")


def test_codes_for_unread_column_refused(coded_and_plain: Any) -> None:
    with pytest.raises(duckdb.Error, match="coded has no column 'income'"):
        rows(coded_and_plain, "FROM kacpc('coded', k := 4, missing_codes := {'income': ['0']})")
    with pytest.raises(duckdb.Error, match=r"missing_codes does not fit coded\.ward: this call does not read it"):
        rows(coded_and_plain, "FROM kacpc('coded', k := 4, withhold := ['ward'], missing_codes := {'ward': ['0']})")


def test_code_list_may_mix_types_and_repeat(coded_and_plain: Any) -> None:
    dbanon.declare(
        coded_and_plain, "coded", town={"role": "quasi", "missing_codes": "NA"}, disease="sensitive", ward="insensitive"
    )
    expected = rows(coded_and_plain, "FROM kacpc('plain', k := 4)")
    codes = {"codes": ["?", -1, "-", "", 7.5, "?"]}
    assert coded_and_plain.execute("FROM kacpc('coded', k := 4, missing_codes := $codes)", codes).fetchall() == expected


@pytest.fixture
def typed_codes_con() -> Iterator[Any]:
    with dbanon.connect() as con:
        con.execute("CREATE TABLE t AS SELECT unnest([999, 999, 1, 2, -9, -9]) AS age, unnest(['NA', '?', 'a']) AS sex")
        con.execute("UPDATE t SET sex = CASE WHEN age = 999 THEN 'NA' WHEN age > 0 THEN '?' ELSE 'a' END")
        yield con


@pytest.mark.parametrize(
    ("codes", "ages", "sexes"),
    [
        ("['NA', 999]", 2, 2),
        ("[999, 'NA', -9, '?']", 4, 4),
        ("[ 'NA' , - 9, 9.99e2 ]", 4, 2),
        ("{'age': [999, '-9'], 'sex': ['NA', '?']}", 4, 4),
        ("MAP {'age': [999, '-9']}", 4, 0),
        ("{'sex': ['NA', 5]}", 0, 2),
        ("'NA'", 0, 2),
        ("-9", 2, 0),
        ("[998 + 1]", 2, 0),
        ("[]", 0, 0),
        ("['it''s', '🙂', 999] /* 'NA', */", 2, 0),
    ],
)
@pytest.mark.parametrize("sign", ["=", ":="])
def test_codes_accepted_as_typed_by_users(typed_codes_con: Any, codes: str, ages: int, sexes: int, sign: str) -> None:
    query = f"FROM kacpc('t', k{sign}2, qi{sign}['age', 'sex'], missing_codes {sign} {codes})"
    actual_rows = rows(typed_codes_con, "SELECT count(*) - count(age), count(*) - count(sex) " + query)
    assert actual_rows == [(ages, sexes)]


# --- the gate --------------------------------------------------------------------------------------------------------

REAL = {"age": Sql("27"), "town": text("Rome"), "disease": text("Flu"), "ward": text("w")}
"""A value of each column that is no code."""

FAULTS: dict[str, Callable[[str, str, Any], Sql]] = {
    "codes are not read": lambda name, type_, codes: identifier(name),
    "the last code is not read": lambda name, type_, codes: missing_codes.column_without_codes(name, type_, codes[:-1]),
    "more is read as missing": lambda name, type_, codes: missing_codes.column_without_codes(
        name, type_, [*codes, REAL[name]]
    ),
    "a code is read as a value": lambda name, type_, codes: Sql(
        f"coalesce({missing_codes.column_without_codes(name, type_, codes)}, {identifier(name)})"
    ),
}


@pytest.mark.parametrize("role", FAULTS)
@pytest.mark.parametrize("column", ["age", "town", "disease", "ward"])
@pytest.mark.parametrize("source", ["coded", "seen"])
def test_gate_refuses_codes_read_differently(
    coded_and_plain: Any, monkeypatch: pytest.MonkeyPatch, role: str, column: str, source: str
) -> None:
    """For every role, of a table and of a view with codes in the call; for a person, too."""
    coded_and_plain.execute("CREATE VIEW seen AS FROM coded")
    roles = "person := 'pid', qi := ['age', 'town'], sensitive := ['disease'], insensitive := ['ward']"
    codes = "missing_codes := {'age': ['999'], 'town': ['NA', '?'], 'disease': ['-'], 'ward': ['']}"
    call = "'coded', k := 3" if source == "coded" else f"'seen', k := 3, {roles}, {codes}"
    if source == "seen":
        coded_and_plain.execute("DELETE FROM dbanon.policy")
    assert rows(coded_and_plain, f"FROM kacpc({call})")

    def faulty(name: str, type_: str, codes: Any) -> Sql:
        return (
            FAULTS[role](name, type_, codes)
            if name == column and codes
            else missing_codes.column_without_codes(name, type_, codes)
        )

    class FaultyMissingCodes:
        column_without_codes = staticmethod(faulty)

    monkeypatch.setattr(release_spec, "missing_codes", FaultyMissingCodes)
    for function in ("kacpc", "kacpc_metrics"):
        with pytest.raises(duckdb.Error, match=REFUSED):
            rows(coded_and_plain, f"FROM {function}({call})")


def test_gate_refuses_person_codes_not_read_as_null(coded_and_plain: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    dbanon.declare(coded_and_plain, "coded", pid={"role": "person", "missing_codes": [3]})
    assert rows(coded_and_plain, "FROM kacpc('coded', k := 3)")

    class FaultyPersonCodes:
        column_without_codes = staticmethod(
            lambda name, type_, codes: missing_codes.column_without_codes(name, type_, () if name == "pid" else codes)
        )

    monkeypatch.setattr(release_spec, "missing_codes", FaultyPersonCodes)
    with pytest.raises(duckdb.Error, match=REFUSED):
        rows(coded_and_plain, "FROM kacpc('coded', k := 3)")


# --- other readers of the source -------------------------------------------------------------------------------------


def test_codes_not_required_in_hierarchy(coded_and_plain: Any) -> None:
    """A code is in no hierarchy and need not be; one that is no value of its column is a problem of the policy."""
    dbanon.load_hierarchy(coded_and_plain, "towns", [["Rome", "*"], ["Oslo", "*"], ["Bonn", "*"]])
    dbanon.declare(coded_and_plain, "coded", town={"role": "quasi", "hierarchy": "towns", "missing_codes": ["NA", "?"]})
    assert rows(coded_and_plain, "FROM uncovered_values('coded', 'town')") == []
    assert len(rows(coded_and_plain, "FROM kacpc('coded', k := 3)")) == 80
    assert rows(coded_and_plain, "FROM policy_problems() WHERE table_name = 'coded'") == []
    built = {label for (label,) in rows(coded_and_plain, "SELECT label FROM hierarchy_flat('h', 'coded', 'town')")}
    assert built == {"*", "Rome", "Oslo", "Bonn"}
    coded_and_plain.execute(
        "UPDATE dbanon.policy SET missing_codes = ['NA', NULL, '7.5'] WHERE (table_name, column_name) = ('coded', "
        "'age')"
    )
    problems = [
        problem
        for (problem,) in rows(coded_and_plain, "SELECT problem FROM policy_problems() WHERE column_name = 'age'")
    ]
    assert problems == [
        f"dbanon.policy: missing_codes does not fit coded.age: '{code}' is not a value of type BIGINT."
        for code in ("NA", "7.5")
    ]
    with pytest.raises(
        duckdb.Error, match=r"missing_codes does not fit coded\.age: 'NA' is not a value of type BIGINT"
    ):
        rows(coded_and_plain, "FROM kacpc('coded', k := 3)")


def test_repeated_code_is_no_repeated_identifier(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT CASE WHEN i < 5 THEN 'none' ELSE 'p' || i END AS pid, i AS age "
        "FROM range(40) AS r (i)"
    )
    dbanon.declare(con, "t", pid="identifier", age="quasi")
    assert "occurs in more than one row" in rows(con, "SELECT problem FROM policy_problems()")[0][0]
    dbanon.declare(con, "t", pid={"role": "identifier", "missing_codes": "none"})
    assert rows(con, "FROM policy_problems()") == []


MEASURES = [
    "anonymity('{}')",
    "l_diversity('{}')",
    "k_anonymity('{}', person := 'pid')",
    "t_closeness('{}')",
    "influence('{}')",
]


@pytest.mark.parametrize("call", MEASURES)
def test_source_metrics_with_codes_equal_null(coded_and_plain: Any, call: str) -> None:
    expected = rows(coded_and_plain, f"FROM {call.format('plain')}")
    assert expected
    assert rows(coded_and_plain, f"FROM {call.format('coded')}") == expected


AUDITS = [
    "risk('safe', source := '{}')",
    "risk('safe', source := '{}', population := '{}')",
    "query_error('safe', '{}', queries := 50)",
    "attack('safe', kind := 'homogeneity', source := '{}')",
    "attack_summary('safe', kind := 'reconstruction', source := '{}')",
    "attack_summary('safe', kind := 'linkage', source := '{}', register := '{}')",
]


@pytest.mark.parametrize("call", AUDITS)
def test_audit_uses_codes_of_release(coded_and_plain: Any, call: str) -> None:
    coded_and_plain.execute("CREATE TABLE safe AS FROM kacpc('plain', k := 4)")
    expected = rows(coded_and_plain, f"FROM {call.replace('{}', 'plain')}")
    assert expected
    assert rows(coded_and_plain, f"FROM {call.replace('{}', 'coded')}") == expected


@pytest.mark.parametrize("codes", [["?", "-", ""], {"town": ["?"], "DISEASE": "-", "ward": [""]}])
@pytest.mark.filterwarnings("ignore::dbanon.errors.warnings.DisclosureWarning")  # both tables are about the same people
def test_audit_uses_codes_of_call_and_policy(coded_and_plain: Any, codes: Any) -> None:
    """The ledger has them, in addition to those of the policy."""
    dbanon.create_release(coded_and_plain, "safe", "kacpc", "plain", k=4)
    dbanon.declare(
        coded_and_plain, "coded", town={"role": "quasi", "missing_codes": "NA"}, disease="sensitive", ward="insensitive"
    )
    dbanon.create_release(coded_and_plain, "coded_safe", "kacpc", "coded", k=4, missing_codes=codes)
    for call in ("risk('{}')", "query_error('{}', queries := 50)", "attack_summary('{}', kind := 'reconstruction')"):
        expected = rows(coded_and_plain, f"FROM {call.format('safe')}")
        assert rows(coded_and_plain, f"FROM {call.format('coded_safe')}") == expected


# --- versions --------------------------------------------------------------------------------------------------------


def test_replacing_null_by_code_keeps_release_fresh(coded_and_plain: Any) -> None:
    dbanon.create_release(coded_and_plain, "safe", "kacpc", "coded", k=3, missing_codes=["x", 7])
    assert rows(coded_and_plain, "SELECT name, status FROM release_status()") == [("safe", "fresh")]
    assert len(rows(coded_and_plain, rows(coded_and_plain, "SELECT statement FROM dbanon.release")[0][0])) == 80
    coded_and_plain.execute("UPDATE coded SET age = NULL WHERE age = 999")
    coded_and_plain.execute("UPDATE coded SET town = 'NA' WHERE town = '?'")
    assert rows(coded_and_plain, "SELECT status, added, removed, changed FROM release_status()") == [("fresh", 0, 0, 0)]
    assert rows(coded_and_plain, "FROM refresh_problems('safe')") == []
    old_rows = rows(coded_and_plain, "FROM safe")
    assert dbanon.refresh_release(coded_and_plain, "safe").version == 2
    assert rows(coded_and_plain, "FROM safe") == old_rows
    coded_and_plain.execute("UPDATE coded SET town = 'Rome' WHERE town = 'NA'")
    assert rows(coded_and_plain, "SELECT status FROM release_status()") == [("stale",)]


def test_codes_do_not_apply_to_key_column(con: Any) -> None:
    """A record whose primary key happens to be a code is a record of its own."""
    con.execute("CREATE TABLE t AS SELECT 990 + i AS id, i % 3 AS age FROM range(20) AS r (i)")
    con.execute("ALTER TABLE t ADD PRIMARY KEY (id)")
    dbanon.create_release(con, "safe", "kacpc", "t", k=3, qi=["age"], missing_codes=["999"])
    assert rows(con, "SELECT count(DISTINCT person_key) FROM dbanon.membership") == [(20,)]


def _before_codes(path: Path) -> list[Any]:
    """Create a database from before policies had codes, with a release of that time."""
    with dbanon.connect(path) as con:
        con.execute("CREATE TABLE t AS SELECT i AS pid, i % 7 AS age FROM range(40) AS r (i)")
        dbanon.declare(con, "t", pid="identifier", age="quasi")
        dbanon.create_release(con, "safe", "kacpc", "t", k=4)
        fingerprint = rows(con, "SELECT policy_fingerprint FROM dbanon.release")
        con.execute("ALTER TABLE dbanon.policy DROP COLUMN missing_codes")
        con.execute("ALTER TABLE dbanon.policy DROP COLUMN settings")
        assert rows(con, "FROM policy_problems()") == []
    return fingerprint


def test_database_without_missing_codes_column_works(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    fingerprint = _before_codes(path)
    with dbanon.connect(path, read_only=True) as con:
        assert len(rows(con, "FROM kacpc('t', k=4)")) == 40
        assert rows(con, "SELECT status, policy_changed FROM release_status()") == [("fresh", False)]
        assert rows(con, "SELECT count(*) FROM kacpc('t', k=4, missing_codes=[3]) WHERE age IS NULL")[0][0] > 0
        assert rows(con, "FROM policy_problems()") == []
    with dbanon.connect(path) as con:  # has the column now, and no policy has changed
        assert rows(con, "SELECT missing_codes FROM dbanon.policy") == [(None,), (None,)]
        assert rows(con, "SELECT status, policy_changed FROM release_status()") == [("fresh", False)]
        dbanon.refresh_release(con, "safe")
        assert rows(con, "SELECT DISTINCT policy_fingerprint FROM dbanon.release") == fingerprint
        con.execute("UPDATE dbanon.policy SET missing_codes = ['3'] WHERE column_name = 'age'")
        assert rows(con, "SELECT status, policy_changed FROM release_status()") == [("stale", True)]


def test_code_changes_in_open_transaction_detected(coded_and_plain: Any) -> None:
    coded_and_plain.execute("BEGIN")
    coded_and_plain.execute("UPDATE dbanon.policy SET missing_codes = NULL WHERE column_name = 'town'")
    with pytest.raises(duckdb.Error, match="the policy of coded changed after this statement was planned"):
        rows(coded_and_plain, "FROM kacpc('coded', k := 4)")
    coded_and_plain.execute("ROLLBACK")


def test_review_counts_values_after_codes(coded_and_plain: Any) -> None:
    """Codes of the policy, and of the call that makes the first release."""
    findings = "SELECT * FROM policy_review('{}')"
    expected = [
        [str(cell).replace("plain", "coded") for cell in row] for row in rows(coded_and_plain, findings.format("plain"))
    ]
    assert [[str(cell) for cell in row] for row in rows(coded_and_plain, findings.format("coded"))] == expected


# --- codes of a call, where the policy publishes coarsely ------------------------------------------------------------

COARSE = {
    "rounding": {"age": {"role": "quasi", "rounding": "10"}},
    "top": {"age": {"role": "quasi", "top": "36"}},
    "bottom": {"age": {"role": "quasi", "bottom": "38"}},
    "default grid": {"born": "quasi"},
    "min_level": {"zip": {"role": "quasi", "hierarchy": "zips", "min_level": 1}},
}


@pytest.fixture
def coarse_policy_con(con: Any) -> Any:
    con.execute(
        "CREATE TABLE p AS SELECT 30 + i % 10 AS age, DATE '2001-02-01' + (i % 9)::INTEGER AS born, "
        "'0213' || i % 3 AS zip, 'd' || i % 5 AS ill FROM range(90) r (i)"
    )
    con.execute("INSERT INTO dbanon.hierarchy FROM hierarchy_prefix('zips', 'p', 'zip', keep = [4])")
    return con


@pytest.mark.parametrize("setting", COARSE)
@pytest.mark.parametrize("form", ["of the column", "of all columns"])
def test_call_codes_exclude_protected_values(
    coarse_policy_con: Any, setting: str, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All records that are NULL would be known to be 37, though the policy publishes [30, 39]."""
    [(column, declared)] = COARSE[setting].items()
    dbanon.declare(coarse_policy_con, "p", **{column: declared}, ill="sensitive")
    value = {"age": "37", "born": "2001-02-03", "zip": "02131"}[column]
    asked_text = f"['{value}']" if form == "of all columns" else f"{{'{column}': ['{value}']}}"
    with pytest.raises(Exception, match="which would loosen the policy"):
        coarse_policy_con.execute(f"FROM kacpc('p', k := 2, missing_codes := {asked_text})")
    monkeypatch.setattr(column_roles, "_check_missing_codes", lambda *_: None)
    for kind in ("", "_classes", "_metrics"):
        with pytest.raises(Exception, match="the release gate refused the result"):
            coarse_policy_con.execute(f"FROM kacpc{kind}('p', k := 2, missing_codes := {asked_text})").fetchall()


def test_redundant_codes_combine_with_grid(coarse_policy_con: Any) -> None:
    dbanon.declare(
        coarse_policy_con, "p", age={"role": "quasi", "rounding": "10", "missing_codes": ["37"]}, ill="sensitive"
    )
    for asked_text in ("['NA', '?', 'd1', '37']", "{'age': ['37'], 'ill': ['d1']}"):
        call = f"kacpc('p', k := 3, missing_codes := {asked_text})"
        result = coarse_policy_con.execute(f"SELECT count(*) - count(age), count(*) - count(ill) FROM {call}")
        assert result.fetchall() == [(9, 18)]
