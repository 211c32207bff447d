"""The columns that say who a row of each of several tables is about: as dbanon.relation says, as the call does, or as
foreign keys do."""

from collections.abc import Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.source import stored_relation
from dbanon.source.catalog import Source
from dbanon.source.stored_relation import ColumnPairs, StoredKeys
from dbanon.table_functions.parameters import format_value
from dbanon.table_functions.table_function import Call

_FOREIGN = """
SELECT constraint_column_names, referenced_column_names
FROM system.main.duckdb_constraints()
WHERE (database_name, schema_name, table_name) = (?, ?, ?) AND constraint_type = 'FOREIGN KEY' AND referenced_table = ?
ORDER BY constraint_index ASC
"""


@dataclass(frozen=True)
class _Key:
    """The key of a table, and where it is said: `key` or `dbanon.relation`."""

    pairs: ColumnPairs
    said: str = "key"


def of_tables(call: Call, sources: Sequence[Source], stored: Sequence[StoredKeys]) -> list[tuple[str, ...]]:
    """The key of each table, that of people first, with columns in the same order; `stored` is what dbanon.relation
    says of each of the others.

    Raises MissingArgumentError where neither dbanon.relation nor the call nor one foreign key says what it is,
    AmbiguousRelationError, RelationKeyMismatchError where the call says something else than dbanon.relation,
    InvalidArgumentError where tables name people by different columns, UnknownColumnError.
    """
    function, (entity, *children) = call.function.name, sources
    found = [_key(call, entity, child, of) for child, of in zip(children, stored, strict=True)]
    theirs = tuple(entity.column(function, name, found[0].said) for _, name in found[0].pairs)
    keys = [theirs]
    for child, of in zip(children, found, strict=True):
        own = {entity.column(function, b, of.said): child.column(function, a, of.said) for a, b in of.pairs}
        if set(own) != set(theirs):
            raise errors.InvalidArgumentError(
                function,
                "key",
                f"the same columns of {entity.shown} for all tables",
                format_value(sorted({*own, *theirs})),
            )
        keys.append(tuple(own[name] for name in theirs))
    return keys


def _key(call: Call, entity: Source, child: Source, stored: StoredKeys) -> _Key:
    """Return the key of a table: that of dbanon.relation, of the call, or of its one foreign key."""
    given: ColumnPairs | None = call.options["key"]
    if len(stored.keys) > 1:
        raise errors.AmbiguousRelationError(call.function.name, child.shown, entity.shown)
    if stored.keys:
        said = stored.keys[0]
        if given is not None and _names(given) != _names(said):
            raise errors.RelationKeyMismatchError(
                call.function.name, child.shown, entity.shown, format_value(_as_given(said))
            )
        return _Key(said, "dbanon.relation")
    if given is not None:
        return _Key(given)
    found = _foreign(call, entity, child)
    if len(found) != 1:
        many = f"{child.shown} has {len(found) or 'no'} FOREIGN KEY{'S' * (len(found) > 1)} to {entity.shown}"
        accepts = f"the columns that say who a row is about ({many}, and dbanon.relation says nothing of them)"
        raise errors.MissingArgumentError(call.function.name, "key", accepts, "key = 'patient_id'")
    return _Key(found[0])


def _names(pairs: ColumnPairs) -> set[tuple[str, str]]:
    """Return the pairs, whatever their order and capitals."""
    return {(own.lower(), theirs.lower()) for own, theirs in pairs}


def _as_given(pairs: ColumnPairs) -> str | list[str] | dict[str, str]:
    """Return a key as a call gives it."""
    if any(own != theirs for own, theirs in pairs):
        return dict(pairs)
    return pairs[0][0] if len(pairs) == 1 else [own for own, _ in pairs]


def relations(call: Call, sources: Sequence[Source]) -> list[StoredKeys]:
    """What dbanon.relation says of each table and the first, which has a row a person."""
    return [stored_relation.stored_keys(call.cursor, child, sources[0]) for child in sources[1:]]


def _foreign(call: Call, entity: Source, child: Source) -> list[ColumnPairs]:
    """What foreign keys of one table to the other say."""
    if not (entity.is_table and child.is_table and (entity.database, entity.schema) == (child.database, child.schema)):
        return []
    place = [child.database, child.schema, child.table, entity.table]
    return [tuple(zip(*row, strict=True)) for row in call.cursor.execute(_FOREIGN, place).fetchall()]
