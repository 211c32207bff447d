"""policy_review('table'): what a release of a table would publish, as a reviewer asks for it, each finding with the
statement that changes it. The same before the first release of a name, of the roles that its call has in the end
(dbanon/views/pre_release_review.py)."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from dbanon.errors.example import Example
from dbanon.policy.attribute import DEFAULT_DATE_GRID
from dbanon.policy.checks import policy_problems
from dbanon.policy.hierarchies import lookup
from dbanon.policy.hierarchies.storage import Stored
from dbanon.source import catalog, missing_codes, stored_policy
from dbanon.source.column_types import family, person_value
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, literal_rows, one_line, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call, TableFunction

TOPICS = ("as it is", "generalized", "withheld", "unique", "flat", "problem")
"""What findings are about, in their order; the first row says how many records and persons there are."""

SHOWN = ("unique", "flat", "problem")
"""Topics whose findings are shown one by one, with their statements."""

FEW = 3
"""Values right under the root that make no hierarchy flat: there is nothing between them and `*`."""

Row = tuple[str, str | None, str, str | None]
"""Topic, column, finding and statement."""


@dataclass(frozen=True)
class Reviewed:
    """A column as a release would publish it: `row` is what the policy has of it, `role` None where it has none.

    `changes` is what says otherwise instead of a statement: parameters of the call, or options of a command.
    """

    name: str
    type: str
    role: str | None
    settings: stored_policy.Settings
    row: stored_policy.PolicyRow | None = None
    changes: str = ""

    @property
    def is_unchanged(self) -> bool:
        """Whether it is published as it is."""
        return self.role in ("sensitive", "other")


@dataclass(frozen=True)
class _Place:
    """A source, and how statements name the tables of its policy: shortly in the current database."""

    source: catalog.Source
    policy: Sql
    hierarchies: Sql

    @classmethod
    def of(cls, call: Call, source: catalog.Source) -> _Place:
        parts = (catalog.SCHEMA,) if source.home == call.path.database else (source.home, catalog.SCHEMA)
        return cls(source, *(Sql(".".join([*map(_bare, parts), name])) for name in ("policy", "hierarchy")))


def _bare(name: str) -> str:
    return name if name == catalog.SCHEMA else identifier(name)


def statement(call: Call) -> Sql:
    """Return the SQL of policy_review()."""
    source = call.source()
    rows = {source.spelled(row.declared.column): row for row in stored_policy.policy_rows(source, call.cursor)}
    columns = [
        Reviewed(name, type_, row.declared.role.lower(), row.declared.settings, row)
        if (row := rows.get(name)) is not None
        else Reviewed(name, type_, None, stored_policy.Settings())
        for name, type_ in source.columns.items()
    ]
    source = missing_codes.without_codes(source, (row.declared for row in rows.values()), call.holds)
    return reviewed(call, source, columns, policy_problems.statement(call, source))


def reviewed(call: Call, source: catalog.Source, columns: Sequence[Reviewed], known: Sql | None = None) -> Sql:
    """Return SQL that gives the rows of a review.

    `known` gives problem and statement of what is wrong in the policy.
    """
    at = _Place.of(call, source)
    literals = [row for place, column in enumerate(columns) for row in _fixed(call, at, place, column)]
    types = dict.fromkeys(("topic", "column_name", "finding", "statement"), "VARCHAR")
    tellers = stored_policy.person_columns((c.name, c.role, dict(c.settings.form)) for c in columns if c.role)
    person = next((person_value(identifier(c.name), c.type) for c in columns if [c.name] == tellers), None)
    counted = [
        {
            "place": place,
            "name": text(c.name),
            "shown": text(one_line(c.name)),
            "value": _value(c),
            "role": text(c.role or ""),
            "is_unchanged": c.is_unchanged,
            "statement": _optional(_withholds(at, c)),
            "prefix": _optional(_prefix(at, c)),
        }
        for place, c in enumerate(columns)
        if c.is_unchanged or (c.role == "quasi" and _is_category(c) and c.settings.hierarchy is None)
    ]
    return Sql(
        fill(
            "policy/checks/review.sql",
            source=source.rows,
            person=person,
            topics=[text(topic) for topic in TOPICS],
            fixed=literal_rows({"rank": "INTEGER", "place": "INTEGER"} | types, literals),
            columns=counted,
            unchanged=[c for c in counted if c["is_unchanged"]],
            few=FEW,
            known=known,
        )
    )


def _optional(value: str | None) -> Sql:
    return Sql("NULL") if value is None else text(value)


def _value(column: Reviewed) -> Sql:
    name = identifier(column.name)
    return Sql(f"CAST({name} AS VARCHAR) COLLATE POSIX") if _is_category(column) else name


def _is_category(column: Reviewed) -> bool:
    return family(column.type)[0] is None


def _fixed(call: Call, at: _Place, place: int, column: Reviewed) -> list[list[object]]:
    """What is known of a column without its values."""
    if column.is_unchanged:
        return []
    if column.role != "quasi":
        return [
            [TOPICS.index("withheld"), place, "withheld", column.name, column.role or "no role", _publishes(at, column)]
        ]
    how, coarser = _how(at, column)
    rows: list[list[object]] = [[TOPICS.index("generalized"), place, "generalized", column.name, how, coarser]]
    name = column.settings.hierarchy
    flat, leaves = _flat(call, at.source, name) if name is not None else (0, 0)
    if name is not None and leaves > FEW and flat > 0:
        said = f"{flat:,} of {leaves:,} values of hierarchy {name} are right under *: as they are, or *"
        rows.append([TOPICS.index("flat"), place, "flat", column.name, said, None])
    return rows


def _how(at: _Place, column: Reviewed) -> tuple[str, str | None]:
    """How a quasi-identifier is generalized, and what makes it coarser."""
    settings = column.settings
    kind = family(column.type)[0]
    ends = [f"{sign}{end}" for sign, end in (("<=", settings.bottom), (">=", settings.top)) if end is not None]
    if settings.hierarchy is not None or kind is None:
        said = [f"hierarchy {settings.hierarchy}"] if settings.hierarchy else ["as it is or *"]
        least = settings.min_level or 0
        said += [f"from level {least}"] if least else []
        said += [f"up to level {settings.max_level}"] if settings.max_level is not None else []
        coarser = _set(at, column, "min_level", least + 1) if settings.hierarchy else None
        return ", ".join(said), coarser
    if kind in ("date", "timestamp", "nanos"):
        grid = str(settings.round or settings.grid or DEFAULT_DATE_GRID).lower()
        calendar = ("none", "day", "month", "quarter", "year", "decade", "century")
        following = {"week": "month"} | dict(zip(calendar, (*calendar[1:], None), strict=True))
        coarser = following.get(grid)
    else:
        grid = str(settings.round or settings.grid or "none").lower()
        coarser = "5" if grid == "none" and kind != "time" else None
    said = ["ranges" if grid == "none" else f"ranges by {grid}", *ends]
    return ", ".join(said), None if coarser is None else _set(at, column, "grid", coarser)


def _flat(call: Call, source: catalog.Source, name: str) -> tuple[int, int]:
    """How many leaves of a hierarchy are right under its root, and how many there are."""
    found = lookup.find(call, name, source, is_declared=True)
    if found is None:
        return 0, 0
    if not isinstance(found, Stored):
        return sum(len(path) == 2 for path in found.paths), len(found.paths)
    table = qualified(found.database, catalog.SCHEMA, "hierarchy_node")
    flat, leaves = call.cursor.execute(
        f"SELECT system.main.count(*) FILTER (WHERE depth = 1), system.main.count(*) FROM {table} "
        f"WHERE name = {text(found.name)} AND is_leaf"
    ).fetchall()[0]
    return int(flat), int(leaves)


# --- what changes a finding ------------------------------------------------------------------------------


def _key(row: stored_policy.PolicyRow) -> str:
    pairs = {"table_name": row.table_name, "column_name": row.declared.column}
    if row.schema_name != "main":
        pairs = {"schema_name": row.schema_name} | pairs
    return " AND ".join(f"{name} = {text(value)}" for name, value in pairs.items())


def _withholds(at: _Place, column: Reviewed) -> str | None:
    """What withholds a column."""
    if column.changes:
        return column.changes.replace("{}", column.name)
    return f"DELETE FROM {at.policy} WHERE {_key(column.row)}" if column.row else None


def _publishes(at: _Place, column: Reviewed) -> str | None:
    """What publishes a column that nobody has said anything about: generalized."""
    if column.changes or column.role is not None:
        return None
    place = join_sql(text(part) for part in (*stored_policy.policy_key(at.source), column.name))
    return f"INSERT INTO {at.policy} (schema_name, table_name, column_name, role) VALUES ({place}, 'quasi')"


def _set(at: _Place, column: Reviewed, setting: str, value: str | int) -> str | None:
    if column.changes or column.row is None:
        return None
    return f"UPDATE {at.policy} SET {setting} = {literal(value)} WHERE {_key(column.row)}"


def _prefix(at: _Place, column: Reviewed) -> str | None:
    """What builds a hierarchy of the beginnings of texts for a column that has none."""
    given = None if column.changes or column.row is None else _set(at, column, "hierarchy", column.name)
    if given is None:
        return None
    made = ", ".join(text(part) for part in (column.name, at.source.shown, column.name))
    return f"INSERT INTO {at.hierarchies} FROM hierarchy_prefix({made}); {given}"


# --- as text ---------------------------------------------------------------------------------------------


def lines(rows: Iterable[Row], title: str, width: int = 80, statements: bool = True) -> list[str]:
    """Return a review as text: what is published how in a line a topic, then what stands out, with what changes it."""
    listed = list(rows)
    head = next((finding for topic, _, finding, _ in listed if topic == "source"), "")
    made = [one_line(f"{title}: {head}")]
    by_topic = {topic: list(group) for topic, group in groupby(listed, key=lambda row: row[0])}
    for topic in TOPICS:
        found = by_topic.get(topic, [])
        if topic not in SHOWN:
            said = "; ".join(one_line(f"{column} ({finding})") for _, column, finding, _ in found)
            made += _wrapped(topic, said or "nothing", width)
            continue
        for _, column, finding, changed in found:
            about = f"{column}: " if column is not None and topic == "flat" else ""
            made += _wrapped(topic, one_line(about + finding), width)
            if statements and changed is not None:
                made.append(f"    {one_line(changed)}")
    return made


def _wrapped(topic: str, said: str, width: int) -> list[str]:
    return textwrap.wrap(
        said, width, initial_indent=f"  {topic:<12}", subsequent_indent=" " * 14, break_on_hyphens=False
    )


def as_objects(rows: Iterable[Row]) -> list[Mapping[str, str | None]]:
    """Return a review as JSON has it."""
    return [dict(zip(("topic", "column_name", "finding", "statement"), row, strict=True)) for row in rows]


FUNCTIONS = (
    TableFunction(
        "policy_review",
        ("tbl",),
        (),
        "What a release of a table publishes, generalizes and withholds, who is unique by what is published as it is, "
        "flat hierarchies and problems, each with the statement that changes it.",
        handler=statement,
        example=Example("SELECT * FROM policy_review('patients');"),
    ),
)
