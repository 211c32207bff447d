"""profile('table'): what each column reveals about people, and a proposed policy.

One statement does everything (sql/policy/profiling/): it counts each column's values, derives a role from its name and
its values (dbanon/policy/profiling/thresholds.py), and counts the most distinguishing columns in pairs and triples. It
shows no cell of the table.

Combinations cost most of the time. Only N_COMBINED columns are combined: those that are no identifiers and distinguish
most rows (proposed quasi-identifiers first). Triples combine N_IN_TRIPLES of them with each other, and N_PARTNERS of
these with each further one. Rows with equal values in all these columns are first counted together. Beyond
MAX_EXACT_GROUPS such groups, only every 2nd, 4th, 8th ... combination of values is counted, selected by its hash: this
estimates the share of unique rows without bias, with a standard error below sqrt(2 / MAX_EXACT_GROUPS), half a percent.
Values are compared by hashes of 64 bits.

1M rows x 20 columns of random numbers, dates and texts, in which no two rows are equal, take 4 to 5 seconds of
processor time, half of that on two cores; planning takes 0.5 of it.
"""

from itertools import combinations

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy.checks import spellings
from dbanon.policy.column_names import hints as column_names_hints
from dbanon.policy.column_names.category_names import MAX_CODES, is_category_name
from dbanon.policy.column_roles import WITHHELD
from dbanon.policy.hierarchies import storage
from dbanon.policy.profiling import named_problems, number_formats, repairs, table_problems, thresholds
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.source.column_types import CALENDAR_FAMILIES, NUMERIC_FAMILIES, family, is_category, person_value
from dbanon.sqltext import resources
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.quote import Sql, identifier, literal, literal_rows, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call, TableFunction

N_COMBINED = 12
"""Number of columns that are combined: 66 pairs."""

N_IN_TRIPLES = 7
"""Number of these columns whose triples are all counted: 35."""

N_PARTNERS = 3
"""Number of these columns whose pairs are combined with each further column, so that it has triples too: 3 each."""

MAX_EXACT_GROUPS = 65536
"""Maximum number of groups of equal rows for exact counts."""


_PATTERN_CONSTANTS = ("CONTACT", "DATE", "GIVEN_FIRST", "SENTENCE", "SURNAME_FIRST", "TITLED")
"""Patterns of values in dbanon/policy/profiling/thresholds.py."""


_RANKS = range(1, N_COMBINED + 1)
"""Ranks of the columns that are combined, by their number of values."""


def profile_sql(call: Call) -> Sql:
    """Return the SQL of profile(table): one row per column, in the table's order, with a proposed role.

    No value of the table is read before the SQL runs.
    """
    source = call.source()
    rows = stored_policy.policy_rows(source, call.cursor)
    source = missing_codes.without_codes(source, rows, call.holds)
    function, policy = call.function.name, qualified(source.home, catalog.SCHEMA, "policy")
    hierarchies = _available_hierarchies(call, source)
    compared = table_problems.template_values(source)
    columns = [_column_values(i, name, type_) for i, (name, type_) in enumerate(source.columns.items())]
    for column in columns:
        column["is_birth"] = column["raw_name"] in compared["births"]
        column["is_other_date"] = column["raw_name"] in compared["other_dates"]
    return Sql(
        fill(
            "policy/profiling/profile.sql",
            source=source.rows,
            columns=columns,
            slots=list(_RANKS),
            combinations=[_combination_values(c) for c in _combined_ranks() if max(c) <= len(columns)],
            groups=MAX_EXACT_GROUPS,
            **_threshold_values(),
            hints=list(column_names_hints.HINTS),
            keys=[c for c in columns if c["may_be_person"]],
            named=[c for c in columns if c["is_named"]],
            plain_id=spellings.NORMALIZED_VALUE,
            withheld=Sql(WITHHELD),
            leaves=_leaf_relations(hierarchies),
            affinities=_shared_name_words(source, [name for _, name in hierarchies]),
            mend=repairs.repair_values(),
            compared=compared,
            table_pieces=table_problems.repair_pieces(source, rows, [name for _, name in hierarchies]),
            whole=number_formats.template_values(),
            pieces=repairs.repair_pieces(source, rows),
            column_words=_column_words(source),
            named_problems=named_problems.problem_rows(source),
            max_codes=MAX_CODES,
            views=None if source.is_table else repairs.view_pieces(source),
            where=text(source.sql),
            insert=text(f"INSERT INTO {policy} (schema_name, table_name, column_name, role"),
            place=text("".join(f"{text(part)}, " for part in stored_policy.policy_key(source))),
            bare=text(source.table.lower()) if source.bare else None,
            shadowed=error_sql(errors.ShadowedTableError(function, source.shown, str(source.sql))),
        )
    )


def _combined_ranks() -> list[tuple[int, ...]]:
    """Return the combinations of columns that are searched for unique records, as ranks of the columns."""
    return [
        *combinations(_RANKS, 2),
        *combinations(_RANKS[:N_IN_TRIPLES], 3),
        *((*pair, other_rank) for pair in combinations(_RANKS[:N_PARTNERS], 2) for other_rank in _RANKS[N_IN_TRIPLES:]),
    ]


def _threshold_values() -> dict[str, object]:
    """Return the template values of dbanon/policy/profiling/thresholds.py: limits, patterns and words."""
    return {
        "limits": {
            name: literal(value)
            for name, value in vars(thresholds).items()
            if name.isupper() and isinstance(value, (int, float))
        },
        "patterns": [
            {"what": text(description), "column": identifier(description), "pattern": text(p)}
            for description, p in thresholds.PATTERNS.items()
        ],
        "diagnosis": text(thresholds.DIAGNOSIS_CODE),
        "shapes": {name: text(getattr(thresholds, name)) for name in _PATTERN_CONSTANTS},
        "postal": text(thresholds.POSTAL_WORDS),
        "places": text(thresholds.HOUSE_WORDS),
        "sensitive_hierarchies": [text(name) for name in thresholds.SENSITIVE_HIERARCHIES],
    }


def _combination_values(ranks: tuple[int, ...]) -> dict[str, Sql]:
    """Return the template values of a combination of columns: a list of their ranks, and a hash of their values."""
    *first_hashes, combined_hash = [f"hash_{rank}" for rank in ranks]
    for column_hash in reversed(first_hashes):
        combined_hash = f"xor({column_hash}, {combined_hash})"
    return {"ranks": Sql(str(list(ranks))), "hash": Sql(combined_hash)}


# --- columns ---------------------------------------------------------------------------------------------


def _column_values(position: int, name: str, type_: str) -> dict[str, object]:
    """Return the template values of one column: how it is read, what its type allows, and what its name suggests.

    `position` is the position of the column in the table, from 0.
    """
    kind = family(type_)[0]
    is_text = type_ == "VARCHAR" or type_.startswith("ENUM(")
    value = identifier(name)
    if type_ in ("FLOAT", "DOUBLE"):
        value = Sql(f"({value} + 0::{type_})")  # -0.0 becomes 0.0
    elif kind is None and type_ not in ("BOOLEAN", "UUID"):
        value = Sql(f"CAST({value} AS VARCHAR) COLLATE POSIX")  # compare texts by bytes, other types by their text
    hints = column_names_hints.hints_from_name(name)
    return {
        "i": position,
        "raw_name": name,
        "column": column_reference(name),
        "name": text(name),
        "literal": text(str(text(name))),
        "type": text(type_),
        "value": value,
        "number": _numeric_value(kind, type_),
        "is_text": is_text,
        "is_whole": kind in ("integer", "huge"),
        "number_formats": number_formats.possible_formats(name, hints) if kind in ("integer", "huge") else [],
        "is_keylike": is_text or type_ == "UUID",
        "generalizes": kind is not None or is_category(type_),
        "tells_persons": person_value(identifier(name), type_) is not None,
        "is_time": kind in ("date", "timestamp", "nanos", "time"),
        "is_clock": kind == "time",
        "is_measured": any((hints.count, hints.category, hints.quasi)),
        "may_be_integers": kind in ("float", "decimal") and not type_.endswith(",0)"),
        "is_coded": kind in NUMERIC_FAMILIES and is_category_name(name),
        "is_position": hints.coordinate is not None and kind in NUMERIC_FAMILIES,
        "is_named": any((hints.quasi, hints.sensitive)) and kind not in CALENDAR_FAMILIES,
        "coded_as": _CODE_LISTS.get(kind or ""),
        "may_be_person": any((hints.number, hints.subject, hints.key)),
        "may_have_spellings": hints.sensitive is not None or not (hints.quasi or hints.neutral or hints.key),
        "may_be_unchanged": hints.sensitive is not None,
        "hints": {hint: text(word) for hint in column_names_hints.HINTS if (word := getattr(hints, hint))},
    }


_CODE_LISTS = dict.fromkeys(NUMERIC_FAMILIES, "number") | dict.fromkeys(CALENDAR_FAMILIES, "date")
"""Which codes for missing values a family of types can have."""


_NUMERIC_VALUES = {
    **dict.fromkeys(("integer", "huge", "decimal"), Sql("value::DOUBLE")),
    "float": Sql("CASE WHEN isfinite(value) THEN value::DOUBLE END"),
    "time": Sql("epoch(value)"),
    **dict.fromkeys(CALENDAR_FAMILIES, Sql("CASE WHEN isfinite(value) THEN epoch(value::TIMESTAMP) END")),
}
"""SQL that converts a `value` to a DOUBLE, by the family of its type."""


def _numeric_value(kind: str | None, type_: str) -> Sql | None:
    """Return SQL that converts a column named `value` to a DOUBLE, NULL if it is not finite.

    Dates and times become seconds. `kind` is the family of the type: integer, huge, decimal, float, date, timestamp,
    nanos or time. If it is None (any other type) the result is None.
    """
    if type_ == "TIMESTAMP WITH TIME ZONE":  # a cast would use the time zone of the session
        return Sql("CASE WHEN isfinite(value) THEN epoch_us(value) / 1000000 END")
    return None if kind is None else _NUMERIC_VALUES[kind]


# --- hierarchies -----------------------------------------------------------------------------------------


def _available_hierarchies(call: Call, source: catalog.Source) -> list[tuple[str | None, str]]:
    """Return (database, name) of the hierarchies that a policy can name, stored ones first.

    The database is None for those that come with dbanon. Of hierarchies with equal names only the first is returned:
    that of the source's home, that of the session's database, or the one that comes with dbanon.
    """
    databases: dict[str, str | None] = {}
    for database in dict.fromkeys([source.home, call.path.database]):
        for name in catalog.stored_hierarchies(call.cursor, database):
            databases.setdefault(name, database)
    for name in resources.shipped_hierarchies():
        databases.setdefault(name, None)
    return [(database, name) for name, database in databases.items()]


def _leaf_relations(hierarchies: list[tuple[str | None, str]]) -> list[Sql]:
    """Return SQL of relations (name, label) of the leaves of hierarchies.

    The first relation has those of all hierarchies that come with dbanon, without labels that are also inner nodes. The
    others are one per stored hierarchy. `hierarchies` are (database, name), with None for those that come with dbanon.
    """
    rows: list[tuple[str, str]] = []
    stored: list[Sql] = []
    for database, name in hierarchies:
        if database is not None:
            table = qualified(database, catalog.SCHEMA, "hierarchy")
            stored.append(Sql(fill("policy/profiling/hierarchy_leaves.sql", table=table, name=text(name))))
        elif (hierarchy := storage.shipped_hierarchy(name)) is not None:
            inner = {label for path in hierarchy.paths for label in path[:-1]}
            rows += [(name, path[-1]) for path in hierarchy.paths if path[-1] not in inner]
    return [literal_rows({"name": "VARCHAR", "label": "VARCHAR"}, rows), *stored]


def _column_words(source: catalog.Source) -> Sql:
    """Return SQL of rows (place, word): every column and the words that its name shares with other names."""
    rows = [
        (place, word)
        for place, column in enumerate(source.columns)
        for word in sorted(column_names_hints.comparable_words(column))
    ]
    return literal_rows({"place": "INTEGER", "word": "VARCHAR"}, rows)


def _shared_name_words(source: catalog.Source, hierarchies: list[str]) -> Sql:
    """Return SQL of rows (place, name, n_words): column, hierarchy, and the number of words that their names share.

    Pairs without a common word are omitted.
    """
    rows = [
        (place, name, shared)
        for place, column in enumerate(source.columns)
        for name in hierarchies
        if (shared := column_names_hints.n_shared_words(column, name))
    ]
    return literal_rows({"place": "INTEGER", "name": "VARCHAR", "n_words": "INTEGER"}, rows)


FUNCTIONS = (
    TableFunction(
        "profile",
        ("tbl",),
        (),
        "Returns one row per column: what it reveals about people, alone and with other columns, and a proposed role "
        "and hierarchy.",
        handler=profile_sql,
        example=Example("SELECT * FROM profile('patients');"),
    ),
)
