"""What is wrong in dbanon.relation: tables and columns that are not there, keys that nobody declared to tell people
apart, and rows that are about nobody."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.profiling.repeated_identifiers import binds
from dbanon.source import attached_databases, catalog, stored_policy, stored_relation
from dbanon.source.column_types import are_comparable_keys, person_value
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text
from dbanon.sqltext.templates import error_sql, fill, sql_placeholder
from dbanon.table_functions.table_function import Call

FUNCTION = "dbanon.relation"
"""Whose problems these are, in messages."""

Place = tuple[str, str, str]
"""Database, schema and name of a table or view."""


@dataclass(frozen=True)
class _Side:
    """One of the two tables of a row: how the row names it, where it is, its columns and their types by lower-case
    name, and the key."""

    schema: str
    table: str
    place: Place
    columns: dict[str, tuple[str, str]]
    key: tuple[str, ...]

    @property
    def values(self) -> list[Sql]:
        """How the columns of the key are compared."""
        found = (self.columns[name.lower()] for name in self.key)
        return [person_value(identifier(name), type_) or Sql("NULL") for name, type_ in found]


@dataclass(frozen=True)
class Found:
    """What is wrong with a row of a database: `problem` at once, or where `count` is not 0."""

    database: str
    schema: str
    table: str
    columns: tuple[str, ...]
    problem: str | Sql
    statement: str | None = None
    count: Sql | None = None

    @property
    def row(self) -> list[str | None]:
        """The row of the answer."""
        at = [self.database, self.schema, self.table, ", ".join(self.columns)]
        return [*at, str(self.problem), self.statement]

    @property
    def values(self) -> dict[str, object]:
        """Template values of sql/policy/checks/policy_problems.sql."""
        database, schema, table, columns = (text(part or "") for part in self.row[:4])
        at = {"database": database, "schema": schema, "table": table, "column": columns}
        return {**at, "problem": self.problem, "statement": Sql("NULL"), "count": self.count}


def problems(call: Call, database: str, only: catalog.Source | None) -> Iterator[Found]:
    """What is wrong in the relations of a database; `only` those of one table."""
    places = catalog.relations(call.cursor, database)
    seen: dict[tuple[Place, Place], frozenset[tuple[str, str]]] = {}
    for row in stored_relation.relation_rows(call.cursor, database):
        named = ((row.schema, row.table), (row.entity_schema, row.entity))
        if only is not None and (
            database != only.home or not any(stored_policy.is_about(only, *name) for name in named)
        ):
            continue
        keys = tuple(zip(*row.pairs, strict=True))
        found: list[Found] = []
        sides = [
            side
            for (schema, table), key in zip(named, keys, strict=True)
            if (side := _side(call, database, places, (schema, table, key), found)) is not None
        ]
        yield from found
        if len(sides) == 2 and not found:
            child, entity = sides
            pairs = frozenset((own.lower(), theirs.lower()) for own, theirs in row.pairs)
            if seen.setdefault((child.place, entity.place), pairs) != pairs:
                said = str(errors.AmbiguousRelationError(FUNCTION, child.table, entity.table))
                yield Found(database, child.schema, child.table, child.key, said)
            for side in sides:
                yield from _roles(call, database, side, side is child)
            yield from _keys(call, database, child, entity)


def _side(
    call: Call,
    database: str,
    places: Sequence[Place],
    named: tuple[str, str, tuple[str, ...]],
    found: list[Found],
) -> _Side | None:
    """Return a table that a row names; what is wrong with the name or the columns goes to `found`."""
    schema, table, key = named
    about = [place for place in places if stored_policy.row_matches(place, schema, table)]
    about += attached_databases.tables_named_by_row(call.cursor, schema, table)
    if not about:
        away = attached_databases.is_detached(call.cursor, database, table)
        said = (
            f"not checked: '{table}' is in a database that is not attached now, or it is gone from there. "
            "Hint: ATTACH it by the name that the policy has for it."
            if away
            else f"orphan: there is no table or view '{table}' (schema '{schema}') in this database, as {FUNCTION} "
            "says. Hint: DELETE the row, or correct the name."
        )
        found.append(Found(database, schema, table, key, said))
        return None
    columns = {name.lower(): (name, type_) for name, type_ in catalog.columns_of(call.cursor, about[0]).items()}
    for name in key:
        if name.lower() not in columns:
            error = errors.UnknownColumnError(FUNCTION, table, name, "key", [own for own, _ in columns.values()])
            found.append(Found(database, schema, table, (name,), str(error)))
        elif person_value(identifier(name), columns[name.lower()][1]) is None:
            error_ = errors.UnsupportedPersonError(FUNCTION, table, name, columns[name.lower()][1])
            found.append(Found(database, schema, table, (name,), str(error_)))
    return _Side(schema, table, about[0], columns, key)


def _roles(call: Call, database: str, side: _Side, is_child: bool) -> Iterator[Found]:
    """Columns of a key that the policy publishes, or in a table of rows says nothing of: such a table released alone
    counts rows as people."""
    roles = _declared(call, database, side.place)
    for name in side.key:
        role = roles.get(name.lower())
        if role in ("person", "identifier") or (role is None and not is_child):
            continue
        wanted = "person" if len(side.key) == 1 and "person" not in roles.values() else "identifier"
        error = str(errors.RelationKeyNotWithheldError(side.table, name, role))
        yield Found(database, side.schema, side.table, (name,), error, _declares(database, side, name, role, wanted))


def _declared(call: Call, database: str, place: Place) -> dict[str, str]:
    """Return roles of the columns of a table by lower-case name, as the policy in a database declares them."""
    if not catalog.has_table(call.cursor, database, "policy"):
        return {}
    policy = qualified(database, catalog.SCHEMA, "policy")
    rows = call.cursor.execute(f"SELECT schema_name, table_name, column_name, role FROM {policy}").fetchall()

    def is_about(schema: str, table: str) -> bool:
        if place[0] == database:
            return stored_policy.row_matches(place, schema, table)
        return place in attached_databases.tables_named_by_row(call.cursor, schema, table)

    return {column.lower(): role.lower() for schema, table, column, role in rows if is_about(schema, table)}


def _declares(database: str, side: _Side, name: str, role: str | None, wanted: str) -> str | None:
    """Return the statement that gives a column without a role one; a role that it has is not taken away."""
    if role is not None:
        return None
    values = join_sql(text(part) for part in (side.schema, side.table, name, wanted))
    table = qualified(database, catalog.SCHEMA, "policy")
    return f"INSERT INTO {table} (schema_name, table_name, column_name, role) VALUES ({values})"


def _keys(call: Call, database: str, child: _Side, entity: _Side) -> Iterator[Found]:
    """Keys that cannot be compared, that several people have or nobody, and rows that are about nobody: counted when
    the statement runs."""
    for own, theirs in zip(child.key, entity.key, strict=True):
        types = (child.columns[own.lower()][1], entity.columns[theirs.lower()][1])
        if not are_comparable_keys(*types):
            error = errors.KeyTypeMismatchError(
                FUNCTION, f"{child.table}.{own}", types[0], entity.table, theirs, types[1]
            )
            yield Found(database, child.schema, child.table, (own,), str(error))
            return
    count = sql_placeholder("repeated")
    for side, what, problem in (
        (child, "orphans", errors.OrphanRowsError(FUNCTION, child.table, entity.table, child.key, count)),
        (entity, "missing", errors.NullKeyError(FUNCTION, entity.table, entity.key, count)),
        (entity, "repeated", errors.DuplicateKeyError(FUNCTION, entity.table, entity.key, count)),
    ):
        sql = Sql(
            fill(
                "policy/checks/related_keys.sql",
                what=what,
                child=qualified(*child.place),
                entity=qualified(*entity.place),
                own=child.values,
                theirs=entity.values,
            )
        )
        if not binds(call.cursor, sql):
            reason = f"unreadable: '{side.table}' cannot be read here. Hint: SELECT from it to see why."
            yield Found(database, side.schema, side.table, side.key, reason)
            return
        yield Found(database, side.schema, side.table, side.key, error_sql(problem), count=sql)
