"""profile('table'): what a table's columns tell about people, and a policy to start from.

One statement does it all (sql/policy/profile/): each column's values are counted, a role follows from its name and its
values (dbanon/policy/profiling/thresholds.py), and the columns that say most are counted in pairs and triples. It shows
no cell of the table.

Combinations are what costs. Only SLOTS columns take part, those that are no identifiers and tell most rows apart
(proposed quasi-identifiers first); triples join TRIPLE_SLOTS of them with each other, and PARTNERS of these with each
further one. Rows that agree in all these columns are counted together first. Beyond GROUPS such groups, only every
2nd, 4th, 8th ... combination of values is counted, chosen by its hash: that estimates the share of unique rows without
bias, with a standard error below sqrt(2 / GROUPS), half a percent. Values are told apart by hashes of 64 bits.

1M rows x 20 columns of random numbers, dates and texts, of which no two rows coincide, take 4 to 5 seconds of processor
time, on two cores half of that; planning takes 0.5 of it.
"""

from itertools import combinations

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy.checks import person_spellings
from dbanon.policy.column_names import hints as column_names_hints
from dbanon.policy.column_roles import WITHHELD
from dbanon.policy.hierarchies import storage
from dbanon.policy.profiling import repairs, thresholds
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.source.column_types import family, is_category, person_value
from dbanon.sqltext import resources
from dbanon.sqltext.quote import Sql, identifier, literal, literal_rows, qualified, text
from dbanon.sqltext.templates import error_sql, fill
from dbanon.table_functions.table_function import Call, TableFunction

SLOTS = 12
"""Columns that are combined: 66 pairs."""

TRIPLE_SLOTS = 7
"""Of these, columns whose triples are all counted: 35."""

PARTNERS = 3
"""Of these, columns whose pairs are joined with each further column, so that it has triples too: 3 each."""

GROUPS = 65536
"""Groups of equal rows up to which combinations are counted exactly."""


_SHAPES = ("CONTACT", "DATE", "GIVEN_FIRST", "SENTENCE", "SURNAME_FIRST", "TITLED")
"""Forms of values in dbanon/policy/profiling/thresholds.py."""


def statement(call: Call) -> Sql:
    """Return the SQL of one call: a row a column, in the table's order. Nothing is read before it runs."""
    source = call.source()
    rows = stored_policy.policy_rows(source, call.cursor)
    source = missing_codes.without_codes(source, [row.declared for row in rows], call.holds)
    function, policy = call.function.name, qualified(source.home, catalog.SCHEMA, "policy")
    known = _hierarchies(call, source)
    columns = [_column(i, name, type_) for i, (name, type_) in enumerate(source.columns.items())]
    slots = range(1, SLOTS + 1)
    chosen = [
        *combinations(slots, 2),
        *combinations(slots[:TRIPLE_SLOTS], 3),
        *((*pair, last) for pair in combinations(slots[:PARTNERS], 2) for last in slots[TRIPLE_SLOTS:]),
    ]
    return Sql(
        fill(
            "policy/profiling/profile.sql",
            source=source.rows,
            columns=columns,
            slots=list(slots),
            combinations=[list(c) for c in chosen if max(c) <= len(columns)],
            groups=GROUPS,
            limits={
                name: literal(value)
                for name, value in vars(thresholds).items()
                if name.isupper() and isinstance(value, (int, float))
            },
            patterns=[{"what": text(what), "pattern": text(p)} for what, p in thresholds.PATTERNS.items()],
            diagnosis=text(thresholds.DIAGNOSIS),
            shapes={name: text(getattr(thresholds, name)) for name in _SHAPES},
            keys=[c for c in columns if c["may_be_person"]],
            named=[c for c in columns if c["is_named"]],
            postal=text(thresholds.POSTAL),
            places=text(thresholds.PLACES),
            plain_id=person_spellings.PLAIN,
            neutral=[c for c in columns if c["is_neutral"]],
            withheld=Sql(WITHHELD),
            leaves=_leaves(call, known),
            affinities=_affinities(source, [name for _, name in known]),
            sensitive_hierarchies=[text(name) for name in thresholds.SENSITIVE_HIERARCHIES],
            mend=repairs.values(),
            pieces=repairs.columns(source, rows),
            views=None if source.is_table else repairs.view(source),
            where=text(source.sql),
            insert=text(f"INSERT INTO {policy} (schema_name, table_name, column_name, role"),
            place=text("".join(f"{text(part)}, " for part in stored_policy.policy_key(source))),
            bare=text(source.table.lower()) if source.bare else None,
            shadowed=error_sql(errors.ShadowedTableError(function, source.shown, str(source.sql))),
        )
    )


# --- columns ---------------------------------------------------------------------------------------------


def _column(place: int, name: str, type_: str) -> dict[str, object]:
    """Template values of one column: how it is read, what its type can be, what its name says."""
    kind = family(type_)[0]
    is_text = type_ == "VARCHAR" or type_.startswith("ENUM(")
    value = identifier(name)
    if type_ in ("FLOAT", "DOUBLE"):
        value = Sql(f"({value} + 0::{type_})")  # of 0.0 and -0.0 only one is shown
    elif kind is None and type_ not in ("BOOLEAN", "UUID"):
        value = Sql(f"CAST({value} AS VARCHAR) COLLATE POSIX")  # texts byte by byte, the rest as it is shown
    hints = column_names_hints.named(name)
    return {
        "i": place,
        "name": text(name),
        "literal": text(str(text(name))),
        "type": text(type_),
        "value": value,
        "number": _number(kind, type_),
        "is_text": is_text,
        "is_whole": kind in ("integer", "huge"),
        "is_keylike": is_text or type_ == "UUID",
        "generalizes": kind is not None or is_category(type_),
        "tells_persons": person_value(identifier(name), type_) is not None,
        "is_time": kind in ("date", "timestamp", "nanos", "time"),
        "is_clock": kind == "time",
        "is_measured": any((hints.count, hints.category, hints.quasi)),
        "is_position": hints.coordinate is not None and kind in _CODED and kind not in _CALENDAR,
        "is_named": any((hints.quasi, hints.sensitive)) and kind not in _CALENDAR,
        "coded_as": _CODED.get(kind or ""),
        "is_neutral": hints.neutral is not None,
        "may_be_person": any((hints.number, hints.subject, hints.key)),
        "may_be_unchanged": any((hints.neutral, hints.sensitive)),
        "hints": {
            hint: text(word) if (word := getattr(hints, hint)) else Sql("NULL") for hint in column_names_hints.HINTS
        },
    }


_CODED = dict.fromkeys(("integer", "huge", "decimal", "float"), "number")
_CODED |= dict.fromkeys(("date", "timestamp", "nanos"), "date")
"""Which codes for missing values a family of types can have."""

_CALENDAR = ("date", "timestamp", "nanos")
"""Families that are published by months where the policy says nothing else."""


def _number(kind: str | None, type_: str) -> Sql | None:
    """Return SQL of a number, date or time `value` as a DOUBLE, NULL if it is not finite.

    None for what has no order.
    """
    if kind is None:
        return None
    if kind in ("integer", "huge", "decimal"):
        return Sql("value::DOUBLE")
    if kind == "float":
        return Sql("CASE WHEN isfinite(value) THEN value::DOUBLE END")
    if kind == "time":
        return Sql("epoch(value)")
    if type_ == "TIMESTAMP WITH TIME ZONE":  # a cast would go by the calendar of the session
        return Sql("CASE WHEN isfinite(value) THEN epoch_us(value) / 1000000 END")
    return Sql("CASE WHEN isfinite(value) THEN epoch(value::TIMESTAMP) END")


# --- hierarchies -----------------------------------------------------------------------------------------


def _hierarchies(call: Call, source: catalog.Source) -> list[tuple[str | None, str]]:
    """(database, name) of what a policy of the source can name, stored hierarchies first; None: shipped."""
    found: dict[str, str | None] = {}
    for database in dict.fromkeys([source.home, call.path.database]):
        for name in catalog.stored_hierarchies(call.cursor, database):
            found.setdefault(name, database)
    for name in resources.shipped_hierarchies():
        found.setdefault(name, None)
    return [(database, name) for name, database in found.items()]


def _leaves(call: Call, known: list[tuple[str | None, str]]) -> list[Sql]:
    """Statements that give (name, label) of the leaves that a value can be, of shipped and of stored hierarchies."""
    rows: list[tuple[str, str]] = []
    stored: list[Sql] = []
    for database, name in known:
        if database is not None:
            table = qualified(database, catalog.SCHEMA, "hierarchy")
            stored.append(Sql(fill("policy/profiling/hierarchy_leaves.sql", table=table, name=text(name))))
        elif (tree := storage.shipped(name)) is not None:
            inner = {label for path in tree.paths for label in path[:-1]}
            rows += [(name, path[-1]) for path in tree.paths if path[-1] not in inner]
    return [literal_rows({"name": "VARCHAR", "label": "VARCHAR"}, rows), *stored]


def _affinities(source: catalog.Source, hierarchies: list[str]) -> Sql:
    """Return rows of columns and hierarchies whose names have words in common: place, name, affinity."""
    rows = [
        (place, name, shared)
        for place, column in enumerate(source.columns)
        for name in hierarchies
        if (shared := column_names_hints.affinity(column, name))
    ]
    return literal_rows({"place": "INTEGER", "name": "VARCHAR", "affinity": "INTEGER"}, rows)


FUNCTIONS = (
    TableFunction(
        "profile",
        ("tbl",),
        (),
        "One row a column: what it tells about people, alone and with others, and a proposed role and hierarchy.",
        handler=statement,
        example=Example("SELECT * FROM profile('patients');"),
    ),
)
