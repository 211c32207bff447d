"""The columns that say who a row of each of several tables is about: as the call says, or as foreign keys do."""

from __future__ import annotations

from collections.abc import Sequence

from dbanon import errors
from dbanon.functions.call import Call
from dbanon.functions.parameters import shown
from dbanon.source.catalog import Source

Pairs = tuple[tuple[str, str], ...]
"""Columns of a table with the columns of the table of people that they name."""

_FOREIGN = """
SELECT constraint_column_names, referenced_column_names
FROM system.main.duckdb_constraints()
WHERE (database_name, schema_name, table_name) = (?, ?, ?) AND constraint_type = 'FOREIGN KEY' AND referenced_table = ?
ORDER BY constraint_index ASC
"""


def of_tables(call: Call, sources: Sequence[Source]) -> list[tuple[str, ...]]:
    """The key of each table, that of people first, with columns in the same order.

    Raises MissingArgument where neither the call nor one foreign key says what it is, InvalidArgument where tables name
    people by different columns, UnknownColumn.
    """
    function, (entity, *children) = call.function.name, sources
    pairs = [_pairs(call, entity, child) for child in children]
    theirs = tuple(entity.column(function, name, "key") for _, name in pairs[0])
    keys = [theirs]
    for child, of in zip(children, pairs, strict=True):
        own = {entity.column(function, name, "key"): child.column(function, column, "key") for column, name in of}
        if set(own) != set(theirs):
            accepts = f"the same columns of {entity.shown} for all tables"
            raise errors.InvalidArgument(function, "key", accepts, shown(sorted({*own, *theirs})))
        keys.append(tuple(own[name] for name in theirs))
    return keys


def _pairs(call: Call, entity: Source, child: Source) -> Pairs:
    """The pairs of a table: those of the call, or of its one foreign key."""
    given: Pairs | None = call.options["key"]
    if given is not None:
        return given
    found = _foreign(call, entity, child)
    if len(found) != 1:
        many = f"{child.shown} has {len(found) or 'no'} FOREIGN KEY{'S' * (len(found) > 1)} to {entity.shown}"
        accepts = f"the columns that say who a row is about ({many})"
        raise errors.MissingArgument(call.function.name, "key", accepts, "key = 'patient_id'")
    return found[0]


def _foreign(call: Call, entity: Source, child: Source) -> list[Pairs]:
    """What foreign keys of one table to the other say."""
    if not (entity.is_table and child.is_table and (entity.database, entity.schema) == (child.database, child.schema)):
        return []
    place = [child.database, child.schema, child.table, entity.table]
    return [tuple(zip(*row, strict=True)) for row in call.cursor.execute(_FOREIGN, place).fetchall()]
