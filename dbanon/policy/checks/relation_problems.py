"""Find errors in dbanon.relation: unknown tables and columns, undeclared keys, and rows without a person."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.profiling.repeated_identifiers import can_plan
from dbanon.source import attached_databases, catalog, stored_policy, stored_relation
from dbanon.source.column_types import are_comparable_keys, person_value
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call

RELATION_TABLE = "dbanon.relation"
"""Subject of these problems in messages."""


@dataclass(frozen=True)
class _RelatedTable:
    """One of the two tables (the rows, or their entities) of a row of dbanon.relation.

    Attributes:
        schema: The schema as the row names it.
        table: The table as the row names it.
        table_name: The table that was found: database, schema and name.
        columns: Name and type of its columns, by lower-case name.
        key: The columns of the key.
    """

    schema: str
    table: str
    table_name: attached_databases.Place
    columns: dict[str, tuple[str, str]]
    key: tuple[str, ...]

    @property
    def key_values(self) -> list[Sql]:
        """SQL of each column of the table's key, equal for equal persons; NULL if its type cannot identify persons."""
        columns = (self.columns[fold_case(name)] for name in self.key)
        return [person_value(identifier(name), type_) or Sql("NULL") for name, type_ in columns]


@dataclass(frozen=True)
class RelationProblem:
    """A problem of a row of dbanon.relation.

    Attributes:
        database, schema, table: The location of the problem.
        columns: The columns that it is about.
        problem: The message; SQL of it if the problem is counted.
        statement: A statement that fixes it; None if there is none.
        count: A query; there is a problem only if it does not return 0. None if the problem is certain.
    """

    database: str
    schema: str
    table: str
    columns: tuple[str, ...]
    problem: str | Sql
    statement: str | None = None
    count: Sql | None = None

    @property
    def row(self) -> list[str | None]:
        """The problem as a row of policy_problems(): database, schema, table, columns, problem and statement.

        The columns are one text.
        """
        return [self.database, self.schema, self.table, ", ".join(self.columns), str(self.problem), self.statement]

    @property
    def template_values(self) -> dict[str, object]:
        """The template values of sql/policy/checks/policy_problems.sql for a problem that is counted."""
        database, schema, table, columns = (text(part or "") for part in self.row[:4])
        location = {"database": database, "schema": schema, "table": table, "column": columns}
        return {**location, "problem": self.problem, "statement": Sql("NULL"), "count": self.count}


def relation_problems(call: Call, database: str, only_table: catalog.Source | None) -> Iterator[RelationProblem]:
    """Yield the problems of the rows of dbanon.relation in a database.

    A row is checked for names, columns and types of its two tables; without such a problem also for contradicting rows,
    roles of the keys and values of the keys. `only_table` restricts the rows to those about one table; None: all rows.
    """
    tables = catalog.relations(call.cursor, database)
    pairs_by_tables: dict[tuple[attached_databases.Place, attached_databases.Place], frozenset[tuple[str, str]]] = {}
    for row in stored_relation.relation_rows(call.cursor, database):
        table_names = ((row.schema, row.table), (row.entity_schema, row.entity))
        if only_table is not None and (
            database != only_table.home or not any(stored_policy.is_about(only_table, *name) for name in table_names)
        ):
            continue
        keys = tuple(zip(*row.pairs, strict=True))
        problems: list[RelationProblem] = []
        sides = [
            related_table
            for (schema, table), key in zip(table_names, keys, strict=True)
            if (related_table := _resolve_table(call, database, tables, (schema, table, key), problems)) is not None
        ]
        yield from problems
        if len(sides) == 2 and not problems:
            child, entity = sides
            pairs = frozenset(
                (fold_case(child_column), fold_case(entity_column)) for child_column, entity_column in row.pairs
            )
            if pairs_by_tables.setdefault((child.table_name, entity.table_name), pairs) != pairs:
                message = str(errors.AmbiguousRelationError(RELATION_TABLE, child.table, entity.table))
                yield RelationProblem(database, child.schema, child.table, child.key, message)
            for related_table in sides:
                yield from _role_problems(call, database, related_table, related_table is child)
            yield from _key_problems(call, database, child, entity)


def _resolve_table(
    call: Call,
    database: str,
    tables: Sequence[attached_databases.Place],
    row_names: tuple[str, str, tuple[str, ...]],
    problems: list[RelationProblem],
) -> _RelatedTable | None:
    """Return one of the two tables that a row of dbanon.relation names; None if it does not exist.

    Args:
        call: The call.
        database: The database of the row.
        tables: All relations of the database.
        row_names: Schema, table and key columns, as the row names them.
        problems: Changed: problems of the name, of missing key columns, and of types that cannot identify persons are
            appended.
    """
    schema, table, key = row_names
    named_tables = [table_name for table_name in tables if stored_policy.row_matches(table_name, schema, table)]
    named_tables += attached_databases.tables_named_by_row(call.cursor, schema, table)
    if not named_tables:
        is_detached = attached_databases.has_recorded_database(call.cursor, database, table)
        message = (
            f"not checked: '{table}' is in a database that is not attached now, or does not exist there any more. "
            "Hint: ATTACH the database under the name that the policy uses."
            if is_detached
            else f"orphan: there is no table or view '{table}' (schema '{schema}') in this database, as "
            f"{RELATION_TABLE} says. Hint: DELETE the row, or correct the name."
        )
        problems.append(RelationProblem(database, schema, table, key, message))
        return None
    columns = {
        fold_case(name): (name, type_) for name, type_ in catalog.columns_of(call.cursor, named_tables[0]).items()
    }
    for name in key:
        if fold_case(name) not in columns:
            error = errors.UnknownColumnError(
                RELATION_TABLE, table, name, "key", [column for column, _ in columns.values()]
            )
            problems.append(RelationProblem(database, schema, table, (name,), str(error)))
        elif person_value(identifier(name), columns[fold_case(name)][1]) is None:
            type_error = errors.UnsupportedPersonError(RELATION_TABLE, table, name, columns[fold_case(name)][1])
            problems.append(RelationProblem(database, schema, table, (name,), str(type_error)))
    return _RelatedTable(schema, table, named_tables[0], columns, key)


def _role_problems(
    call: Call, database: str, related_table: _RelatedTable, is_child: bool
) -> Iterator[RelationProblem]:
    """Yield problems of the roles of key columns: a key must be withheld, as `person` or `identifier`.

    A key of the table of entities may also be undeclared; in the table of rows (`is_child`) it may not, since such a
    table, released on its own, would count rows as people.

    `related_table` is the table with the key. A problem has a statement that declares the column if it is undeclared.
    """
    roles = _declared_roles(call, database, related_table.table_name)
    for name in related_table.key:
        role = roles.get(fold_case(name))
        if role in ("person", "identifier") or (role is None and not is_child):
            continue
        proposed_role = "person" if len(related_table.key) == 1 and "person" not in roles.values() else "identifier"
        yield RelationProblem(
            database,
            related_table.schema,
            related_table.table,
            (name,),
            str(errors.RelationKeyNotWithheldError(related_table.table, name, role)),
            _declare_statement(database, related_table, name, role, proposed_role),
        )


def _declared_roles(call: Call, database: str, place: attached_databases.Place) -> dict[str, str]:
    """Return the roles of a table's columns by lower-case name, as the policy in a database declares them.

    Empty without a policy. `place` is database, schema and name of the table.
    """
    if not catalog.has_table(call.cursor, database, "policy"):
        return {}
    policy = qualified(database, catalog.SCHEMA, "policy")
    rows = call.cursor.execute(f"SELECT schema_name, table_name, column_name, role FROM {policy}").fetchall()

    def is_about(schema: str, table: str) -> bool:
        """Return whether a policy row with this schema_name and table_name is about the table `place`."""
        if place[0] == database:
            return stored_policy.row_matches(place, schema, table)
        return place in attached_databases.tables_named_by_row(call.cursor, schema, table)

    return {fold_case(column): role.lower() for schema, table, column, role in rows if is_about(schema, table)}


def _declare_statement(
    database: str, related_table: _RelatedTable, name: str, role: str | None, proposed_role: str
) -> str | None:
    """Return the SQL statement that declares the column `name` with the proposed role; None if it has a role already.

    Args:
        database: The database of the policy.
        related_table: The table of the column.
        name: The column.
        role: The declared role of the column, which must not be replaced; None without one.
        proposed_role: The role in the statement.
    """
    if role is not None:
        return None
    values = join_sql(text(part) for part in (related_table.schema, related_table.table, name, proposed_role))
    table = qualified(database, catalog.SCHEMA, "policy")
    return f"INSERT INTO {table} (schema_name, table_name, column_name, role) VALUES ({values})"


def _key_problems(call: Call, database: str, child: _RelatedTable, entity: _RelatedTable) -> Iterator[RelationProblem]:
    """Yield problems of the keys of two related tables: types that do not match, or values to be counted.

    If types match, there is one problem each for rows without an entity, NULL keys and duplicate keys of entities;
    whether they exist is counted when the SQL runs. If a table cannot be read, that is the last problem.

    `child` is the table of rows, `entity` the table of people.
    """
    for child_column, entity_column in zip(child.key, entity.key, strict=True):
        types = (child.columns[fold_case(child_column)][1], entity.columns[fold_case(entity_column)][1])
        if not are_comparable_keys(*types):
            error = errors.KeyTypeMismatchError(
                RELATION_TABLE, f"{child.table}.{child_column}", types[0], entity.table, entity_column, types[1]
            )
            yield RelationProblem(database, child.schema, child.table, (child_column,), str(error))
            return
    keys = [
        {"column": column_reference(column), "own": own_value, "theirs": other_value}
        for column, own_value, other_value in zip(child.key, child.key_values, entity.key_values, strict=True)
    ]
    count = sql_placeholder("repeated")
    for related_table, count_kind, problem in (
        (child, "orphans", errors.OrphanRowsError(RELATION_TABLE, child.table, entity.table, child.key, count)),
        (entity, "missing", errors.NullKeyError(RELATION_TABLE, entity.table, entity.key, count)),
        (entity, "repeated", errors.DuplicateKeyError(RELATION_TABLE, entity.table, entity.key, count)),
    ):
        sql = Sql(
            fill(
                "policy/checks/related_keys.sql",
                what=count_kind,
                child=qualified(*child.table_name),
                entity=qualified(*entity.table_name),
                keys=keys,
            )
        )
        if not can_plan(call.cursor, sql):
            reason = f"unreadable: '{related_table.table}' cannot be read here. Hint: SELECT from it to see why."
            yield RelationProblem(database, related_table.schema, related_table.table, related_table.key, reason)
            return
        yield RelationProblem(
            database, related_table.schema, related_table.table, related_table.key, error_sql(problem), count=sql
        )
