"""inference: the values that narrow the published cells of a class are found, all of them and no others."""

from __future__ import annotations

import datetime
import random
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from oracle import dates

import dbanon
from dbanon.udf import cluster

COLUMNS = {
    "class_id": "BIGINT", "column_name": "VARCHAR", "value": "VARCHAR", "size": "BIGINT", "quasi": "VARCHAR",
    "published": "VARCHAR", "possible_values": "VARCHAR[]", "n_covered_values": "BIGINT", "n_possible_values": "BIGINT",
}  # fmt: skip

CLINIC = """
    CREATE TABLE clinic (pid INTEGER, sex VARCHAR, age INTEGER, disease VARCHAR);
    INSERT INTO clinic VALUES
        (1, 'M', 30, 'Prostate cancer'), (2, 'F', 30, 'Flu'), (3, 'M', 30, 'Flu'), (4, 'F', 31, 'Flu'),
        (5, 'M', 60, 'Prostate cancer'), (6, 'M', 61, 'Prostate cancer'), (7, 'F', 60, 'Flu'), (8, 'M', 61, 'Flu')
"""
"""Two classes of four by age, both of both sexes; only men have one of the diseases."""


@pytest.fixture
def clinic(con: Any) -> Any:
    """Provide an attached connection with the table `clinic` and its policy; `age` weighs most."""
    con.execute(CLINIC)
    age = {"role": "quasi", "weight": 1000}
    dbanon.declare(con, "clinic", pid="identifier", sex="quasi", age=age, disease="sensitive")
    return con


def inference_rows(connection: Any, arguments: str, table: str = "clinic") -> list[tuple[Any, ...]]:
    """Return the rows of inference."""
    rows: list[tuple[Any, ...]] = connection.execute(f"FROM inference('{table}', {arguments})").fetchall()
    return rows


# --- by hand ------------------------------------------------------------------------------------------------


def test_male_disease_reveals_unpublished_sex(clinic: Any) -> None:
    classes = clinic.execute("SELECT class_id, sex, age FROM kacpc_classes('clinic', k=4) ORDER BY ALL").fetchall()
    assert classes == [(1, "*", "[30, 31]"), (2, "*", "[60, 61]")]
    assert inference_rows(clinic, "k=4, min_records=3") == [
        (2, "disease", "Prostate cancer", 2, "sex", "*", ["M"], 2, 1),
        (1, "disease", "Prostate cancer", 1, "age", "[30, 31]", ["30"], 2, 1),
        (1, "disease", "Prostate cancer", 1, "sex", "*", ["M"], 2, 1),
    ]


def test_inference_result_has_declared_columns_and_types(clinic: Any) -> None:
    for arguments in ("k=4, min_records=3", "k=4, sensitive=[]", "k=4, intervals='bounds'", "k=4, intervals='struct'"):
        described_rows = clinic.execute(f"DESCRIBE FROM inference('clinic', {arguments})").fetchall()
        assert {name: type_ for name, type_, *_ in described_rows} == COLUMNS


def test_inference_without_unchanged_columns_is_empty(clinic: Any) -> None:
    assert inference_rows(clinic, "k=4, sensitive=[]") == []
    assert inference_rows(clinic, "k=2, qi=['age'], sensitive=[]") == []


def test_insensitive_values_narrow_quasi_identifier(clinic: Any) -> None:
    clinic.execute("ALTER TABLE clinic ADD COLUMN ward VARCHAR")
    dbanon.declare(clinic, "clinic", ward="insensitive")
    clinic.execute("UPDATE clinic SET ward = CASE WHEN sex = 'F' THEN 'W' ELSE 'A' END")
    result = inference_rows(
        clinic, "k=4, min_records=3, sensitive := [], insensitive := ['ward'], allow_rare := ['ward']"
    )
    assert {row[1:3] + tuple(row[6]) for row in result if row[4] == "sex"} == {("ward", "A", "M"), ("ward", "W", "F")}


def test_rare_values_imply_nothing_about_others(clinic: Any) -> None:
    def values(arguments: str) -> set[str]:
        return {row[2] for row in inference_rows(clinic, arguments) if row[4] == "sex"}

    assert values("k=4") == set()
    assert values("k=4, min_records=4") == set()
    assert values("k=4, min_records=3") == {"Prostate cancer"}
    clinic.execute("UPDATE clinic SET disease = 'Gout' WHERE pid = 1")
    assert values("k=4, min_records=3") == set()
    assert values("k=4, min_records=2") == {"Prostate cancer"}
    assert values("k=4, min_records=1") == {"Prostate cancer", "Gout"}


def test_support_counts_persons_if_known(clinic: Any) -> None:
    clinic.execute("INSERT INTO clinic FROM clinic")
    assert {row[2] for row in inference_rows(clinic, "k=4, min_records=6")} == {"Prostate cancer"}
    dbanon.declare(clinic, "clinic", pid="person")
    assert inference_rows(clinic, "k=4, min_records=6") == []
    assert {row[2] for row in inference_rows(clinic, "k=4, min_records=3")} == {"Prostate cancer"}


def test_contradicting_record_elsewhere_ends_inference(clinic: Any) -> None:
    """A narrowed cell must follow from all records with the value, not only from those of the class."""
    clinic.execute("UPDATE clinic SET disease = 'Prostate cancer' WHERE pid = 7")
    assert [row for row in inference_rows(clinic, "k=4, min_records=3") if row[4] == "sex"] == []


def test_range_below_half_width_counts_as_inference(con: Any) -> None:
    con.execute(
        "CREATE TABLE t AS SELECT i AS age, CASE WHEN i < 5 THEN 'few' ELSE 'many' END AS d FROM range(10) r(i)"
    )
    arguments = "k=10, min_records=1, qi=['age'], sensitive=['d']"
    assert inference_rows(con, arguments, "t") == [
        (1, "d", "few", 5, "age", "[0, 9]", ["[0, 4]"], 10, 5),
        (1, "d", "many", 5, "age", "[0, 9]", ["[5, 9]"], 10, 5),
    ]
    con.execute("UPDATE t SET d = 'few' WHERE age = 5")
    assert [row[2] for row in inference_rows(con, arguments, "t")] == ["many"]


def test_values_beyond_top_covered_by_published_bound(con: Any) -> None:
    con.execute("""
        CREATE TABLE t AS SELECT unnest([60, 61, 90, 91, 95, 102]) AS age, unnest(['a', 'b', 'a', 'a', 'c', 'b']) AS d
    """)
    arguments = "min_records=1, qi=['age'], sensitive=['d'], top := {'age': 90}"
    assert inference_rows(con, f"k=2, {arguments}", "t") == [
        (2, "d", "b", 1, "age", ">=90", ["102"], 4, 1),
        (2, "d", "c", 1, "age", ">=90", ["95"], 4, 1),
        (2, "d", "a", 2, "age", ">=90", ["[90, 91]"], 4, 2),
        (1, "d", "a", 1, "age", "[60, 61]", ["60"], 2, 1),
        (1, "d", "b", 1, "age", "[60, 61]", ["61"], 2, 1),
    ]


def test_null_can_be_only_remaining_value(con: Any) -> None:
    con.execute("""
        CREATE TABLE t AS SELECT unnest([1, 2, NULL, NULL]) AS age, unnest(['M', 'F', NULL, NULL]) AS sex,
            unnest(['a', 'a', 'b', 'b']) AS d
    """)
    result = inference_rows(con, "k=4, min_records=2, qi=['age', 'sex'], sensitive=['d']", "t")
    assert result == [
        (1, "d", "b", 2, "age", "*", [None], 3, 1),
        (1, "d", "b", 2, "sex", "*", [None], 3, 1),
        (1, "d", "a", 2, "sex", "*", ["F", "M"], 3, 2),
    ]
    for form in ("bounds", "struct"):
        typed = inference_rows(con, f"k=4, min_records=2, qi=['age', 'sex'], sensitive=['d'], intervals='{form}'", "t")
        assert typed == [(*row[:5], None if row[4] == "age" else row[5], *row[6:]) for row in result]
    assert inference_rows(con, "k=2, min_records=1, qi=['age', 'sex'], sensitive=['d'], nulls='drop'", "t") == []


def test_inference_independent_of_row_order(clinic: Any) -> None:
    clinic.execute("CREATE TABLE turned AS SELECT sex, age, disease FROM clinic ORDER BY pid DESC")
    local_result = inference_rows(clinic, "k=4, min_records=3")
    present_result = inference_rows(
        clinic, "k=4, min_records=3, qi=['sex', 'age'], sensitive=['disease'], weights={'age': 1000}", "turned"
    )
    assert local_result == present_result != []


# --- arguments ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["=", ":=", "=>"])
@pytest.mark.parametrize("connected", [False, True])
def test_inference_accepts_parameters_in_three_forms(form: str, connected: bool) -> None:
    connection: Any = dbanon.connect() if connected else dbanon.attach(duckdb.connect())
    connection.execute(CLINIC)
    arguments = {
        "k": "4", "algorithm": "'mondrian'", "min_records": "3", "qi": "['age', 'sex']", "sensitive": "['disease']",
        "nulls": "'keep'", "weights": "{'age': 1000}",
    }  # fmt: skip
    written_text = ", ".join(f"{name} {form} {value}" for name, value in arguments.items())
    result = inference_rows(connection, written_text)
    assert [row[2:5] for row in result if row[4] == "sex"] == [
        ("Prostate cancer", 2, "sex"),
        ("Prostate cancer", 1, "sex"),
    ]
    connection.close()


@pytest.mark.parametrize("algorithm", ["kacpc", "mondrian"])
def test_inference_uses_classes_of_given_algorithm(clinic: Any, algorithm: str) -> None:
    clinic.execute("INSERT INTO clinic SELECT 10 + i, ['M', 'F'][1 + i % 2], 30 + i * i, 'Flu' FROM range(9) AS r (i)")
    display = inference_rows(clinic, f"k=3, min_records=1, algorithm='{algorithm.upper()}'")
    released_rows = clinic.execute(f"SELECT DISTINCT class_id, disease, sex FROM {algorithm}('clinic', k=3)").fetchall()
    assert {(row[0], row[2], row[5]) for row in display if row[4] == "sex"} <= set(released_rows)
    assert any(row[4] == "sex" for row in display)


def test_inference_uses_best_by_default(clinic: Any) -> None:
    assert inference_rows(clinic, "k=3, min_records=1") == inference_rows(
        clinic, "k=3, min_records=1, algorithm='best'"
    )


def test_inference_refuses_parameter_of_other_algorithm(clinic: Any) -> None:
    assert inference_rows(clinic, "k=4, min_records=3, algorithm='kacpc', prune_unused := false")
    with pytest.raises(duckdb.Error, match="inference: there is no parameter 'prune_unused'"):
        inference_rows(clinic, "k=4, algorithm='mondrian', prune_unused := false")


MISTAKES = [
    ("k=4, algorithm='mondrain'", "there is no algorithm 'mondrain'.*mondrian"),
    ("k=4, algorithm=''", "inference: algorithm must be an algorithm's name"),
    ("k := 4, algorithm := 5", "inference: algorithm must be an algorithm's name"),
    ("k := 4, algorithm := ['kacpc']", "inference: algorithm must be an algorithm's name"),
    ("k=4, min_records=0", "inference: min_records must be an integer of at least 1, got 0"),
    ("k=4, min_records=2.5", "inference: min_records must be an integer of at least 1"),
    ("min_records=3", "inference: k is missing"),
    ("k=9", "inference: k must be between 2 and 8 .clinic has 8 rows., got 9"),
    ("k=4, sensitive=['disease', 'pid']", "would loosen the policy"),
    ("k=4, qi=[]", "no quasi-identifier"),
]


@pytest.mark.parametrize(("arguments", "message"), MISTAKES)
def test_inference_refuses_invalid_arguments(clinic: Any, arguments: str, message: str) -> None:
    with pytest.raises(duckdb.Error, match=message):
        inference_rows(clinic, arguments)


def test_inference_error_names_unknown_table(clinic: Any) -> None:
    with pytest.raises(duckdb.Error, match="inference: no table, view or file 'clinics'"):
        inference_rows(clinic, "k=4", "clinics")


def test_inference_refused_if_gate_refuses_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    real: Callable[..., Any] = cluster.dbanon_cluster

    def alone(request: Any, rows: Any, *domains: Any) -> Any:
        answer = real(request, rows, *domains)
        parts = [[p | {"cluster": i} for i, p in enumerate(a["parts"])] for a in answer.to_pylist()]
        return pa.array([{"parts": p, "error": None} for p in parts], cluster.ANSWER_TYPE)

    monkeypatch.setattr(cluster, "dbanon_cluster", alone)
    with duckdb.connect() as connection:
        dbanon.attach(connection)
        connection.execute(CLINIC)
        with pytest.raises(duckdb.Error, match="release gate refused the result"):
            inference_rows(connection, "k=4, min_records=1, qi=['age', 'sex'], sensitive=['disease']")


HOSTILE = [
    "x'); DROP TABLE clinic; --", 'x"); DROP TABLE clinic; --', "x' || (SELECT 1) || '", "{{ 7 * 7 }}", "{# comment",
    "\x01error('pwned')\x02", "\\", "a.b", "a\nb", "[x]", "*/ x /*", "$1", "😀'\"", "value", "class_id", "column_name",
]  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_inference_accepts_hostile_names_and_values(con: Any, name: str) -> None:
    quoted, literal = name.replace('"', '""'), name.replace("'", "''")
    con.execute(f"""
        CREATE TABLE "t{quoted}" AS
        SELECT CASE WHEN i < 3 THEN 'M' ELSE '{literal}' END AS "{quoted}", i + 10 AS "n{quoted}",
            CASE WHEN i < 2 THEN '{literal}' ELSE 'z' END AS "u{quoted}"
        FROM range(6) AS r (i)
    """)
    table = ('"t' + quoted + '"').replace("'", "''")
    lists = f"qi=['{literal}', 'n{literal}'], sensitive=['u{literal}']"
    assert inference_rows(con, f"k=6, min_records=2, {lists}", table) == [
        (1, f"u{name}", name, 2, f"n{name}", "[10, 15]", ["[10, 11]"], 6, 2),
        (1, f"u{name}", name, 2, name, "*", ["M"], 2, 1),
    ]


# --- compared with plain Python -----------------------------------------------------------------------------

Value = Any
Row = Mapping[str, Value]

CITIES = [
    ["Boston", "Massachusetts", "East", "*"],
    ["Salem", "Massachusetts", "East", "*"],
    ["Albany", "New York", "East", "*"],
    ["Reno", "West", "*"],
    ["Elko", "West", "*"],
]
JOBS = [["nurse", "care", "work"], ["cook", "work"], ["clerk", "work"], ["aide", "care", "work"]]
"""The root is not `*`, which represents NULL among values then."""

TREES = {"city": CITIES, "job": JOBS, "sex": [["M", "*"], ["F", "*"]]}
NUMBERS = ("age", "income", "born")


@dataclass(frozen=True)
class RandomCall:
    """One random call."""

    algorithm: str
    k: int
    support: int | None
    qi: tuple[str, ...]
    unchanged: tuple[str, ...]
    intervals: str
    nulls: str
    person: bool
    top: int | None
    bottom: int | None
    rounding: int | None

    @property
    def sql(self) -> str:
        """Return the arguments, without support."""
        values = [f"k := {self.k}", f"qi := {list(self.qi)}", f"sensitive := {list(self.unchanged)}"]
        values.append(f"intervals := '{self.intervals}', nulls := '{self.nulls}'")
        named_columns_by_column = {column: column for column in ("city", "job") if column in self.qi}
        values += [f"hierarchies := {named_columns_by_column}"] if named_columns_by_column else []
        values += ["person := 'person'"] if self.person else []
        coded_mapping = {"top": self.top, "bottom": self.bottom, "rounding": self.rounding}
        values += [
            f"{name} := {{'age': {end}}}" for name, end in coded_mapping.items() if end is not None and "age" in self.qi
        ]
        return ", ".join(values)

    def end(self, column: str, bound: str) -> Value:
        """Return top or bottom of a column."""
        return getattr(self, bound) if column == "age" else None


@dataclass(frozen=True)
class Scope:
    """The published cell of a class for one quasi-identifier: its text, its coverage, and the width of a range."""

    shown: str | None
    covered: frozenset[Value]
    width: float | None


def key(value: Value) -> float:
    return float(value.toordinal() if isinstance(value, datetime.date) else value)


def read(text: str, like: Value) -> Value:
    """Return an end of an interval, without its mark."""
    return type(like)(text.removeprefix(">=").removeprefix("<="))


def published_ends(row: Row, column: str, form: str, like: Value) -> tuple[Value, Value] | None:
    """Return both ends of a published range; None where it covers all."""
    if form == "bounds":
        pair = row[f"{column}_min"], row[f"{column}_max"]
        return None if pair[0] is None else pair
    if form == "struct":
        both = row[column]
        return None if both is None else (both["low"], both["high"])
    if row[column] == "*":
        return None
    if isinstance(like, datetime.date):
        days = dates.ends(row[column])
        assert None not in days
        return days
    match = re.fullmatch(r"\[(.*), (.*)\]", row[column])
    low, high = match.groups() if match else (row[column], row[column])
    return read(low, like), read(high, like)


def number_scope(row: Row, column: str, call: RandomCall, values: Iterable[Value]) -> Scope | None:
    """Return the scope of a number; None where the class publishes that it has only NULLs."""
    kept_values = set(values)
    filled_values = kept_values - {None}
    minimum, maximum = min(filled_values), max(filled_values)
    if call.intervals == "text" and row[column] is None:
        return None
    ends = published_ends(row, column, call.intervals, minimum)
    if ends is None:
        shown_text = "*" if call.intervals == "text" else None
        return Scope(shown_text, frozenset(kept_values), key(maximum) - key(minimum))
    (low, high), (bottom, top) = ends, (call.end(column, "bottom"), call.end(column, "top"))
    below, above = bottom is not None and low <= bottom, top is not None and high >= top
    if isinstance(low, datetime.date):  # by months, as no call says otherwise
        shown_text = dates.text([low, high], "month")
    elif top is not None and low >= top:
        shown_text = f">={top}"
    elif bottom is not None and high <= bottom:
        shown_text = f"<={bottom}"
    elif low == high:
        shown_text = f"{low}"
    else:
        shown_text = f"[{f'<={bottom}' if below else low}, {f'>={top}' if above else high}]"
    assert call.intervals != "text" or shown_text == row[column]
    low, high = min(low, minimum) if below else low, max(high, maximum) if above else high
    return Scope(shown_text, frozenset(v for v in filled_values if low <= v <= high), key(high) - key(low))


def tree_scope(row: Row, column: str, values: Iterable[Value]) -> Scope | None:
    if row[column] is None:
        return None
    kept_values = set(values)
    covered_values = {v for v in kept_values - {None} for path in TREES[column] if path[0] == v and row[column] in path}
    return Scope(row[column], frozenset(kept_values if row[column] == "*" else covered_values), None)


def narrowed_scope(scope: Scope, values: set[Value]) -> tuple[list[str | None], int] | None:
    """Return the narrowed scope and its number of values; None where nothing is narrowed."""
    remaining_result = values & scope.covered
    filled_values = sorted(remaining_result - {None})
    nulls = [None] if None in remaining_result else []
    if scope.width is None:
        return ([*filled_values, *nulls], len(remaining_result)) if len(remaining_result) < len(scope.covered) else None
    between = [v for v in scope.covered - {None} if filled_values and filled_values[0] <= v <= filled_values[-1]]
    remaining = len(between) + len(nulls)
    if remaining >= len(scope.covered) or (
        filled_values and key(filled_values[-1]) - key(filled_values[0]) >= scope.width / 2
    ):
        return None
    ends = (
        []
        if not filled_values
        else [str(filled_values[0])]
        if len(set(filled_values)) == 1
        else [f"[{filled_values[0]}, {filled_values[-1]}]"]
    )
    return [*ends, *nulls], remaining


def expected(table: Sequence[Row], released_rows: Sequence[Row], call: RandomCall) -> list[tuple[Any, ...]]:
    """Return the rows of inference, from the table and its release."""
    kept_rows = [row for row in table if call.nulls == "keep" or all(row[q] is not None for q in call.qi)]
    assert len(kept_rows) == len(released_rows)
    actual_values = []
    for u in call.unchanged:
        holders: dict[Value, set[Value]] = {}
        for i, row in enumerate(kept_rows):
            holders.setdefault(row[u], set()).add(row["person"] if call.person else i)
        common = {v for v, person in holders.items() if len(person - {None}) >= (call.support or call.k)}
        carried_counts = Counter((row["class_id"], row[u]) for row in released_rows if row[u] in common)
        classes = {row["class_id"]: row for row in released_rows}
        for (class_id, v), size in carried_counts.items():
            for q in call.qi:
                values = [row[q] for row in kept_rows]
                one_class = classes[class_id]
                scope = number_scope(one_class, q, call, values) if q in NUMBERS else tree_scope(one_class, q, values)
                remaining = narrowed_scope(scope, {row[q] for row in kept_rows if row[u] == v}) if scope else None
                if scope and remaining:
                    actual_values.append(
                        (class_id, u, v, size, q, scope.shown, remaining[0], len(scope.covered), remaining[1])
                    )
    return sorted(actual_values, key=lambda r: (r[8] / r[7], -r[3], r[0], r[1], r[2] is None, r[2] or "", r[4]))


def random_call(dice: random.Random) -> tuple[list[Row], RandomCall]:
    """Return a random table and a random call on it."""
    holes = dice.choice([0.0, 0.0, 0.15])
    rows = dice.randint(6, 40)

    def one(values: Sequence[Value]) -> Value:
        return None if dice.random() < holes else dice.choice(values)

    ages = sorted(dice.sample(range(15, 100), dice.randint(2, 20)))
    born = [datetime.date(dice.choice([1950, 1951, 1980]), dice.randint(1, 12), dice.randint(1, 28)) for _ in range(9)]
    table: list[Row] = []
    for _ in range(rows):
        sex = one("MF")
        age = one(ages)
        often = "gout" if (age or 0) > 60 else "acne"
        ill = dice.choice([often, often, "flu", None if holes else "flu", "womb" if sex == "F" else "prostate"])
        row = {"age": age, "income": one([0.5, 1.5, 2.25, 100.0]), "born": one(born)}
        row |= {"city": one([c[0] for c in CITIES]), "job": one([j[0] for j in JOBS]), "sex": sex}
        row |= {"disease": ill, "note": dice.choice("abc"), "person": dice.choice([None, *range(rows // 2 + 1)])}
        table.append(row)
    qi = tuple(dice.sample([*NUMBERS, *TREES], dice.randint(1, 4)))
    top, bottom = dice.choice([None, 70]), dice.choice([None, 30])
    random_call = RandomCall(
        algorithm=dice.choice(["kacpc", "mondrian"]),
        k=dice.randint(2, 6),
        support=dice.choice([None, 1, 2, 5]),
        qi=qi,
        unchanged=dice.choice([("disease",), ("disease", "note"), ("note",)]),
        intervals=dice.choice(["text", "text", "bounds", "struct"]),
        nulls=dice.choice(["keep", "keep", "drop"]),
        person=dice.random() < 0.3,
        top=top,
        bottom=bottom,
        rounding=dice.choice([None, 5, 7]) if top is None and bottom is None else None,
    )
    return table, random_call


TYPES = """age INTEGER, income DOUBLE, born DATE, city VARCHAR, job VARCHAR, sex VARCHAR, disease VARCHAR, note VARCHAR,
    person INTEGER"""


@pytest.mark.not_everyday
@pytest.mark.parametrize("seed", range(6))
def test_inference_on_random_tables_equals_plain_search(con: Any, seed: int) -> None:
    dbanon.load_hierarchy(con, "city", CITIES)
    dbanon.load_hierarchy(con, "job", JOBS)
    dice = random.Random(seed)
    compared = number = 0
    while compared < 12:
        table, parameters = random_call(dice)
        con.execute(f"CREATE OR REPLACE TABLE t ({TYPES})")
        con.executemany(f"INSERT INTO t VALUES ({', '.join('?' * 9)})", [list(row.values()) for row in table])
        try:
            result = con.execute(f"FROM {parameters.algorithm}('t', {parameters.sql})")
        except duckdb.Error as error:  # too few rows or persons are left for this k, or a column has no value
            assert re.search("k must be between|at least 2|no rows|nothing|only NULL|no value", str(error)), error
            continue
        names = [column[0] for column in result.description]
        released_mappings = [dict(zip(names, row, strict=True)) for row in result.fetchall()]
        support = "" if parameters.support is None else f", min_records := {parameters.support}"
        rows = inference_rows(con, f"algorithm := '{parameters.algorithm}', {parameters.sql}{support}", "t")
        assert rows == expected(table, released_mappings, parameters), parameters
        compared += 1
        number += len(rows)
    assert number > 20
