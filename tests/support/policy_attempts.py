"""Attempts to publish more than a policy allows, for the tests of every interface.

The rule under test: a call can only tighten the policy of a table, through any interface.

- `clinic(con)` creates the table `patients` with its policy and hierarchy on an attached connection.
- `ATTEMPTS` are parameters of a call that the policy forbids: every interface refuses each of them with an error of
  dbanon (`dbanon.errors.DbanonError`, or the interface's form of it), and writes nothing.
- `BOUNDS_ATTEMPTS` are more of them, for the algorithms that have the parameter `bounds`.
- `PERMITTED` are parameters that the policy allows: the call returns rows without `problems`.
- `problems(columns, rows)` lists the cells of a release that the policy of `patients` forbids. An empty
  list is the only accepted result, for any call.
- `POLICY` and `HIERARCHY` are the declared roles and the hierarchy as Python values, for an interface with a policy of
  its own (a model, a file, a DataFrame); `rows_sql()` returns a query for the rows of the table.
- `TABLE_SPELLINGS` are other names of the same table; `VIEWS` read it and have no policy, so that they are refused.

A test of an interface runs `ATTEMPTS` and `PERMITTED` through it (`support.scale.sample_cases` in the everyday suite):

    def test_sql_refuses_looser_parameters(con):
        clinic(con)
        for attempt in sample_cases(ATTEMPTS):
            with pytest.raises(duckdb.Error, match=REFUSAL):
                con.execute(f"FROM mondrian('patients', k := 5{attempt.sql_arguments})", attempt.parameters)

Values that identify a person contain `CANARY`. Every person has one record for each ward, with equal
quasi-identifiers, so that a class of too few persons is visible in its records.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import dbanon

K = 5
"""The k of a call: persons in a class. `problems` checks it where the column `ward` is published."""

N_PERSONS = 80
WARDS = ("A", "B", "C")

HIERARCHY = [
    ["02138", "021**", "*"],
    ["02139", "021**", "*"],
    ["02141", "021**", "*"],
    ["02142", "021**", "*"],
    ["90210", "902**", "*"],
    ["90211", "902**", "*"],
    ["90212", "902**", "*"],
]
"""Paths of the hierarchy `zip5`, from the leaf to the root."""

ZIPS = [path[0] for path in HIERARCHY]
MISSING_ZIP = "00000"

POLICY: dict[str, Any] = {
    "name": "identifier",
    "pid": "person",
    "age": {"role": "quasi", "top": "90", "bottom": "18", "rounding": "10"},
    "born": "quasi",
    "zip": {"role": "quasi", "hierarchy": "zip5", "min_level": 1, "missing_codes": [MISSING_ZIP]},
    "sex": "quasi",
    "weight_kg": {"role": "quasi", "rounding": "10"},
    "disease": "sensitive",
    "ward": "insensitive",
}
"""Arguments of `dbanon.declare`. The column `note` has no role, so it is withheld."""

TABLE_SPELLINGS = ("PATIENTS", "Main.patients", '"patients"', 'main."Patients"')
"""Other names of the table: the same policy applies."""

VIEWS = {
    "over_patients": "FROM patients",
    "renamed": "SELECT name AS disease, pid AS ward, age, zip FROM patients",
    "nested": "FROM over_patients",
}
"""Views by name, to be created in this order; none has a policy, so a call on one of them is refused."""


@dataclass(frozen=True)
class Attempt:
    """Parameters of one call over the table `patients`."""

    label: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        return self.label

    @property
    def sql_arguments(self) -> str:
        """The parameters as prepared arguments of a table function: `, qi := $qi`."""
        return "".join(f", {name} := ${name}" for name in self.parameters)


def rows_sql() -> str:
    """Return a query for the rows of `patients`: N_PERSONS persons with one record for each ward."""
    zips = ", ".join(f"'{z}'" for z in (*ZIPS, MISSING_ZIP))
    wards = ", ".join(f"'{ward}'" for ward in WARDS)
    return f"""
        SELECT 'CANARYNAME' || i AS name, 'CANARYPID' || i AS pid,
            (15 + (i * 7) % 84)::INTEGER AS age,
            DATE '1940-01-03' + (i * 253 % 20000)::INTEGER AS born,
            [{zips}][1 + i % 8] AS zip, ['m', 'f'][1 + (i // 3) % 2] AS sex,
            (40 + (i * 13) % 60 + 0.25)::DECIMAL(6, 2) AS weight_kg,
            ['Flu', 'Cold', 'HIV', 'Gout'][1 + (i * 5 // 3) % 4] AS disease, ward, 'CANARYNOTE' || i AS note
        FROM range({N_PERSONS}) AS persons(i), unnest([{wards}]) AS wards(ward)
    """


def clinic(con: Any) -> None:
    """Create `patients`, its hierarchy and its policy on an attached connection."""
    con.execute(f"CREATE TABLE patients AS {rows_sql()}")
    dbanon.load_hierarchy(con, "zip5", HIERARCHY)
    dbanon.declare(con, "patients", **POLICY)


# --- parameters of a call --------------------------------------------------------------------------------------------

REFUSAL = "would loosen|has no column|in two roles|does not fit|lies inside an interval|must be|has a policy"
"""Texts of the errors of `ATTEMPTS`: other errors are faults of the test."""

_FLAT_ZIP = "".join(f"{z};*\n" for z in ZIPS)
_DEEP_ZIP = "".join(f"{z};{z[:4]}*;{z[:3]}**;*\n" for z in ZIPS)
_FLAT_AGE = "".join(f"{age};*\n" for age in range(120))
_FLAT_BORN = "".join(f"{date(1940, 1, 1) + timedelta(days)};*\n" for days in range(20_010))

ATTEMPTS: tuple[Attempt, ...] = (
    Attempt("identifier as sensitive", {"sensitive": ["name", "disease"]}),
    Attempt("identifier as other", {"insensitive": ["name"]}),
    Attempt("identifier as other, rare values allowed", {"insensitive": ["name"], "allow_rare": ["name"]}),
    Attempt("identifier as quasi-identifier", {"qi": ["name", "age"]}),
    Attempt("identifier in capitals", {"sensitive": ["NAME"]}),
    Attempt("identifier in quotes", {"sensitive": ['"name"']}),
    Attempt("identifier with a blank", {"sensitive": ["name "]}),
    Attempt("identifier with its table", {"sensitive": ["patients.name"]}),
    Attempt("person as sensitive", {"sensitive": ["pid"]}),
    Attempt("person as other", {"insensitive": ["pid"], "allow_rare": ["pid"]}),
    Attempt("person as quasi-identifier", {"qi": ["pid"]}),
    Attempt("person withheld", {"withhold": ["pid"]}),
    Attempt("person as identifier", {"identifier": ["pid"]}),
    Attempt("person empty", {"person": ""}),
    Attempt("identifier as person", {"person": "name"}),
    Attempt("quasi-identifier as person", {"person": "zip"}),
    Attempt("undeclared as sensitive", {"sensitive": ["note"]}),
    Attempt("undeclared as other", {"insensitive": ["note"], "allow_rare": ["note"]}),
    Attempt("undeclared as quasi-identifier", {"qi": ["age", "note"]}),
    Attempt("quasi-identifier as other", {"insensitive": ["age"], "allow_rare": ["age"]}),
    Attempt("quasi-identifier as sensitive", {"sensitive": ["age", "disease"]}),
    Attempt("quasi-identifier as sensitive next to qi", {"qi": ["sex"], "sensitive": ["age"]}),
    Attempt("column as qi and other", {"qi": ["age"], "insensitive": ["age"]}),
    Attempt("column as qi and other, other case", {"qi": ["age"], "insensitive": ["AGE"]}),
    Attempt("sensitive as other", {"insensitive": ["disease"]}),
    Attempt("sensitive as quasi-identifier", {"qi": ["disease", "age"]}),
    Attempt("top raised", {"top": {"age": 95}}),
    Attempt("top raised, other case", {"top": {"AGE": 95}}),
    Attempt("top as text", {"top": {"age": "none"}}),
    Attempt("top within a cell of the grid", {"top": {"age": 85}}),
    Attempt("top within a cell of a decimal grid", {"top": {"weight_kg": "55.25"}}),
    Attempt("top that is no number", {"top": {"weight_kg": "nan"}}),
    Attempt("bottom lowered", {"bottom": {"age": 0}}),
    Attempt("bottom lowered, as exponent", {"bottom": {"age": "1e0"}}),
    Attempt("grid finer", {"rounding": {"age": 5}}),
    Attempt("grid that is no multiple", {"rounding": {"age": 15}}),
    Attempt("no grid", {"rounding": {"age": "none"}}),
    Attempt("no grid, other case", {"rounding": {"AGE": "NONE"}}),
    Attempt("no grid of a date", {"rounding": {"born": "none"}}),
    Attempt("grid of days", {"rounding": {"born": "day"}}),
    Attempt("grid of weeks", {"rounding": {"born": "week"}}),
    Attempt("grid of days, other case", {"rounding": {"born": "DAY"}}),
    Attempt("grid finer, decimal", {"rounding": {"weight_kg": "0.1"}}),
    Attempt("round finer", {"coarsen": {"age": 1}}),
    Attempt("round to days", {"coarsen": {"born": "day"}}),
    Attempt("round finer, decimal", {"coarsen": {"weight_kg": "0.5"}}),
    Attempt("round and grid", {"coarsen": {"age": 1}, "rounding": {"age": 10}}),
    Attempt("round and grid, other case", {"coarsen": {"AGE": 1}, "rounding": {"age": 20}}),
    Attempt("min_level zero", {"min_level": {"zip": 0}}),
    Attempt("min_level zero, other case", {"min_level": {"ZIP": 0}}),
    Attempt("min_level false", {"min_level": {"zip": False}}),
    Attempt("max_level zero", {"max_level": {"zip": 0}}),
    Attempt("flat hierarchy", {"hierarchies": {"zip": _FLAT_ZIP}}),
    Attempt("flat hierarchy, other case", {"hierarchies": {"ZIP": _FLAT_ZIP}}),
    Attempt("finer hierarchy", {"hierarchies": {"zip": _DEEP_ZIP}}),
    Attempt("hierarchy of a number", {"hierarchies": {"age": _FLAT_AGE}}),
    Attempt("hierarchy of a date", {"hierarchies": {"born": _FLAT_BORN}}),
    Attempt("value declared missing", {"missing_codes": {"zip": ["02138"]}}),
    Attempt("value of every column declared missing", {"missing_codes": ["02138"]}),
    Attempt("number declared missing", {"missing_codes": {"age": ["33"]}}),
    Attempt("date declared missing", {"missing_codes": ["1940-01-03"]}),
    Attempt("weight of an identifier", {"weights": {"name": 5}}),
)
"""Parameters that the policy forbids."""

BOUNDS_ATTEMPTS: tuple[Attempt, ...] = (
    Attempt("bounds of a date", {"bounds": {"born": ["1950-01-02", "1950-01-05"]}}),
    Attempt("bounds within top and bottom", {"bounds": {"age": [30, 35]}}),
)
"""Parameters that the policy forbids, of the algorithms that have `bounds` (simdiv)."""

PERMITTED: tuple[Attempt, ...] = (
    Attempt("no parameters", {}),
    Attempt("all roles restated", {"qi": ["age", "born", "zip", "sex", "weight_kg"], "sensitive": ["disease"]}),
    Attempt("one quasi-identifier", {"qi": ["age"]}),
    Attempt("hierarchy and settings kept by qi", {"qi": ["zip", "born"]}),
    Attempt("identifier more", {"identifier": ["zip"]}),
    Attempt("column withheld", {"withhold": ["born"]}),
    Attempt("other as sensitive", {"sensitive": ["ward", "disease"]}),
    Attempt("person restated", {"person": "pid"}),
    Attempt("rare values of withheld columns", {"allow_rare": ["name", "pid", "note"]}),
    Attempt("grid coarser", {"rounding": {"age": 20, "born": "year"}}),
    Attempt("round coarser", {"coarsen": {"age": 20}}),
    Attempt("top lowered to a cell", {"top": {"age": 80}}),
    Attempt("hierarchy restated", {"hierarchies": {"zip": "zip5"}}),
    Attempt("min_level higher", {"min_level": {"zip": 2}}),
    Attempt("max_level above the root", {"max_level": {"zip": 5}}),
    Attempt("missing codes empty", {"missing_codes": {"zip": []}}),
    Attempt("code of a sensitive column", {"missing_codes": {"disease": ["HIV"]}}),
    Attempt("NULL dropped", {"nulls": "drop"}),
    Attempt("intervals as two columns", {"intervals": "bounds"}),
    Attempt("intervals as structs", {"intervals": "struct"}),
    Attempt("labels escaped", {"escape_labels": True}),
    Attempt("weights by influence", {"weights": "influence"}),
    Attempt("outliers suppressed", {"suppress": 0.1}),
)
"""Parameters that the policy allows."""


# --- published rows --------------------------------------------------------------------------------------------------

_WITHHELD = re.compile("CANARY(NAME|PID|NOTE)")
_MONTH = r"(?:<=|>=)?\d{4}(?:-\d\d)?"
_BORN = re.compile(rf"\*|{_MONTH}|\[{_MONTH}, {_MONTH}\]")
_INTERVAL = re.compile(r"\[(.+), (.+)\]")
_LABELS = {path[1] for path in HIERARCHY}
_QUASI = re.compile(r"(age|born|zip|sex|weight_kg)(_min|_max)?|class_id")


def problems(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, is_split: bool = False) -> list[str]:
    """List the cells of a release of `patients` that its policy forbids, without repetitions.

    Args:
        columns: Names of the released columns, in any case.
        rows: Their values: text, typed bounds (`age_min`, `age_max`) or structs.
        is_split: Whether the algorithm may put equal records into several classes, as streams and algorithms that
            form clusters of k records do. The persons of a class are not counted then. mondrian does not.
    """
    names = [column.lower() for column in columns]
    result: dict[str, None] = {}
    classes: dict[tuple[str, ...], Counter[str]] = {}
    for row in rows:
        cells = dict(zip(names, row, strict=True))
        for name, cell in cells.items():
            if withheld := _WITHHELD.search(str(cell)):
                result[f"{withheld[0]} in {name}"] = None
            if cell is not None and not _is_allowed(name, cell):
                result[f"{name} too fine"] = None
        key = tuple(str(cell) for name, cell in cells.items() if _QUASI.fullmatch(name))
        classes.setdefault(key, Counter())[str(cells.get("ward"))] += 1
    if set(names) & {"name", "pid", "note"}:
        result["a withheld column"] = None
    if "ward" in names and not is_split and any(max(wards.values()) < K for wards in classes.values()):
        result[f"a class of fewer than {K} persons"] = None
    return list(result)


def _is_allowed(name: str, cell: Any) -> bool:
    """Return whether the policy allows a cell of a quasi-identifier; other columns always pass."""
    column, _, end = name.partition("_m") if name.endswith(("_min", "_max")) else (name, "", "")
    if column not in _CHECKS:
        return True
    if isinstance(cell, Mapping):
        return all(
            value is None or _CHECKS[column](value, low)
            for value, low in zip(cell.values(), (True, False), strict=True)
        )
    if end:
        return _CHECKS[column](cell, end == "in")
    text = str(cell)
    if column == "born":
        return _BORN.fullmatch(text) is not None
    interval = _INTERVAL.fullmatch(text)
    if interval is not None and column != "zip":
        return _CHECKS[column](interval[1], True) and _CHECKS[column](interval[2], False)
    return text == "*" or _CHECKS[column](text, None)


def _age(value: Any, is_low: bool | None) -> bool:
    """Return whether an end of an interval of ages is on the grid; a single age never is, except top and bottom."""
    text = str(value).removesuffix(".0")
    if text in {None: ("<=18", ">=90"), True: ("<=18", "18"), False: (">=90", "90")}[is_low]:
        return True
    if is_low is not True and re.fullmatch(r">=[1-8]0", text):  # a call may lower top to the start of a cell
        return True
    return is_low is not None and text.isdigit() and int(text) % 10 == (0 if is_low else 9)


def _born(value: Any, is_low: bool | None) -> bool:
    """Return whether a typed end of an interval is the first or last day of a month."""
    return bool((value if is_low else value + timedelta(days=1)).day == 1)


def _weight(value: Any, is_low: bool | None) -> bool:
    """Return whether a weight is a multiple of the grid, alone or as an end of an interval."""
    try:
        return float(value) % 10 == 0
    except ValueError:
        return False


def _zip(value: Any, is_low: bool | None) -> bool:
    """Return whether a zip code is published as a label of the declared hierarchy."""
    return str(value) in _LABELS


_CHECKS = {"age": _age, "born": _born, "weight_kg": _weight, "zip": _zip}
