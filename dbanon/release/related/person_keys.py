"""Find the columns that identify the person of a row of each related table.

They come from dbanon.relation, the call, or a foreign key.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.source.catalog import Source
from dbanon.source.stored_relation import ColumnPairs, StoredKeys
from dbanon.sqltext.names import fold_case
from dbanon.table_functions.parameters import format_value
from dbanon.table_functions.table_function import Call

_FOREIGN_KEYS_SQL = """
SELECT constraint_column_names, referenced_column_names
FROM system.main.duckdb_constraints()
WHERE database_name = ? AND schema_name = ? AND table_name = ?
    AND constraint_type = 'FOREIGN KEY' AND referenced_table = ?
ORDER BY constraint_index ASC
"""


@dataclass(frozen=True)
class _PersonKey:
    """The key of a child table, as pairs (column of the child table, column of the parent table).

    `origin` is where it is stated, for messages: the parameter `key` or `dbanon.relation`.
    """

    pairs: ColumnPairs
    origin: str = "key"


def table_keys(call: Call, sources: Sequence[Source], stored: Sequence[StoredKeys]) -> list[tuple[str, ...]]:
    """Return the columns of every table that identify the person of a row, the parent table's first.

    The columns of all keys are in the order of the parent table's key, so that they correspond.

    Args:
        call: The call.
        sources: The tables, the parent table first.
        stored: The keys that dbanon.relation stores for each child table.

    Raises:
        MissingArgumentError: Neither dbanon.relation nor the call nor exactly one foreign key gives the key.
        AmbiguousRelationError: dbanon.relation stores several keys of a table.
        RelationKeyMismatchError: The call gives another key than dbanon.relation.
        InvalidArgumentError: Child tables refer to different columns of the parent table.
        UnknownColumnError: A table does not have a column of the key.
    """
    function, (entity, *children) = call.function.name, sources
    child_keys = [_child_key(call, entity, child, child_key) for child, child_key in zip(children, stored, strict=True)]
    entity_key = tuple(entity.column(function, name, child_keys[0].origin) for _, name in child_keys[0].pairs)
    keys = [entity_key]
    for child, child_key in zip(children, child_keys, strict=True):
        child_by_entity = {
            entity.column(function, entity_name, child_key.origin): child.column(function, child_name, child_key.origin)
            for child_name, entity_name in child_key.pairs
        }
        if set(child_by_entity) != set(entity_key):
            raise errors.InvalidArgumentError(
                function,
                "key",
                f"the same columns of {entity.shown} for all tables",
                format_value(sorted({*child_by_entity, *entity_key})),
            )
        keys.append(tuple(child_by_entity[name] for name in entity_key))
    return keys


def _child_key(call: Call, entity: Source, child: Source, stored: StoredKeys) -> _PersonKey:
    """Return a child table's key: from dbanon.relation, else the call, else its only foreign key to the parent table.

    `stored` are the keys that dbanon.relation stores between both tables; `entity` is the parent table. The key of the
    call may be given in addition if it equals the stored one.

    Raises:
        AmbiguousRelationError: dbanon.relation stores several keys.
        RelationKeyMismatchError: The call gives another key than dbanon.relation.
        MissingArgumentError: Neither dbanon.relation nor the call gives a key, and there is not exactly one foreign
            key.
    """
    call_key: ColumnPairs | None = call.options["key"]
    if len(stored.keys) > 1:
        raise errors.AmbiguousRelationError(call.function.name, child.shown, entity.shown)
    if stored.keys:
        stored_key = stored.keys[0]
        if call_key is not None and _folded_pairs(call_key) != _folded_pairs(stored_key):
            raise errors.RelationKeyMismatchError(
                call.function.name, child.shown, entity.shown, format_value(_as_parameter(stored_key))
            )
        return _PersonKey(stored_key, "dbanon.relation")
    if call_key is not None:
        return _PersonKey(call_key)
    foreign_keys = _foreign_keys(call, entity, child)
    if len(foreign_keys) != 1:
        n_keys, plural = len(foreign_keys) or "no", "S" * (len(foreign_keys) > 1)
        foreign_keys_text = f"{child.shown} has {n_keys} FOREIGN KEY{plural} to {entity.shown}"
        accepts = (
            f"the columns that identify the person of a row ({foreign_keys_text}, and dbanon.relation has no row for "
            "them)"
        )
        raise errors.MissingArgumentError(call.function.name, "key", accepts, "key = 'patient_id'")
    return _PersonKey(foreign_keys[0])


def _folded_pairs(pairs: ColumnPairs) -> set[tuple[str, str]]:
    """Return pairs of column names in lower case, as a set, to compare keys."""
    return {(fold_case(child_name), fold_case(entity_name)) for child_name, entity_name in pairs}


def _as_parameter(pairs: ColumnPairs) -> str | list[str] | dict[str, str]:
    """Return a key as the value of the parameter `key`, for a message.

    It is a dict if columns have different names in the two tables, else one name or a list of names.
    """
    if any(child_name != entity_name for child_name, entity_name in pairs):
        return dict(pairs)
    return pairs[0][0] if len(pairs) == 1 else [child_name for child_name, _ in pairs]


def _foreign_keys(call: Call, entity: Source, child: Source) -> list[ColumnPairs]:
    """Return the foreign keys from a child table to the parent table, each as pairs of (child column, parent column).

    [] if the child or the parent is no table of DuckDB, or the two are in different schemas.
    """
    if not (entity.is_table and child.is_table and (entity.database, entity.schema) == (child.database, child.schema)):
        return []
    tables = [child.database, child.schema, child.table, entity.table]
    return [tuple(zip(*row, strict=True)) for row in call.cursor.execute(_FOREIGN_KEYS_SQL, tables).fetchall()]
