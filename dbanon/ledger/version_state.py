"""Recognize, before anything is clustered, that a refresh would change nothing.

The ledger stores a hash of all that determines a version: its definition, the policy, the hierarchies, the software and
the rows of the source. It is compared only by the software that computed it, so it may use DuckDB's fast hashes. If it
is missing or differs, a version is created, so at worst it costs time.
"""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import duckdb

from dbanon.ledger import hashes
from dbanon.ledger.releases import TABLES, LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, identifier, join_sql

_PLAIN_TYPE = re.compile(
    r"U?(TINY|SMALL|BIG)?INT(EGER)?|VARCHAR|BOOLEAN|DATE|TIME|TIMESTAMP.*|DECIMAL\((\d|1[0-8]),\d+\)|BLOB"
)
"""Types of which DuckDB's hash distinguishes the values. It does not for numbers of 128 bits: of -1 and 0 it is 0."""


def source_state(cursor: Any, spec: ReleaseSpec) -> str:
    """Return the number of records of the source and sums of hashes of what the release reads of them, as text.

    It does not depend on the order of the records. O(rows).
    """
    read_columns = {str(column) for column in plan.make_plan(spec).gate_rules.source_columns}
    columns = {n: type_ for n, type_ in spec.source.columns.items() if str(identifier(n)) in read_columns}
    return json.dumps([_sum_of_hashes(cursor, spec.source.read, columns), columns])


def state_hash(cursor: Any, entry: LedgerEntry, software: Mapping[str, str], source: str) -> str:
    """Return a hash of what determines a version, and of its tables as they are now.

    Args:
        cursor: A cursor.
        entry: The version.
        software: The versions of the software.
        source: The state of the source, as `source_state` returns it.

    O(rows) time.
    """
    definition = (
        entry.call,
        entry.policy_fingerprint,
        entry.hierarchy_fingerprint,
        entry.person_key,
        entry.k,
        entry.roles,
        entry.bases,
        entry.options,
        entry.keys,
        entry.hash_format,
    )
    tables = [
        _sum_of_hashes(
            cursor,
            entry.table(ending),
            catalog.columns_of(cursor, (entry.database, entry.schema, entry.name + ending)),
        )
        for ending in TABLES
    ]
    state = json.dumps([definition, dict(software), source, tables], default=list, sort_keys=True)
    return hashlib.sha256(state.encode()).hexdigest()


STATE = "state"
"""The key of the hash among the hashes of a version in the ledger."""


def is_unchanged(
    cursor: Any, old: LedgerEntry, entry: LedgerEntry, spec: ReleaseSpec, software: Mapping[str, str]
) -> bool:
    """Return whether the next version (`entry`, with `spec`) would be the published one (`old`), as far as is known.

    False if records of `old` are deferred or withheld, or if its tables are not those that were created.
    """
    stored = hashes.stored_hash(cursor, old, STATE)
    withheld_records = f"SELECT 1 FROM {old.membership} WHERE {old.row} AND held LIMIT 1"
    if stored is None or old.n_deferred or cursor.execute(withheld_records).fetchall():
        return False
    try:
        return state_hash(cursor, entry, software, source_state(cursor, spec)) == stored
    except duckdb.Error:  # a table is missing, or the source cannot be read: creating a version reports it
        return False


def _sum_of_hashes(cursor: Any, relation: Sql, columns: Mapping[str, str]) -> Sequence[str]:
    """Return the number of rows of a relation and two sums of 64-bit hashes of its `columns` (types by name), as texts.

    The second sum is of hashes of the hashes, so that changes of several rows that leave the first one equal change it.
    """
    values = join_sql(value for name, type_ in columns.items() for value in _hashed_values(identifier(name), type_))
    row = cursor.execute(
        "SELECT system.main.count(*)::VARCHAR, system.main.sum(hash::HUGEINT)::VARCHAR, "
        f"system.main.sum(system.main.hash(hash, 1)::HUGEINT)::VARCHAR "
        f"FROM (SELECT system.main.hash({values}) AS hash FROM {relation})"
    ).fetchall()[0]
    return [str(value) for value in row]


def _hashed_values(column: Sql, type_: str) -> list[Sql]:
    """Return SQL of the values to hash for a column: of most types the text, as 0.0 and -0.0 are equal.

    Of nested types, of UNION and of VARIANT it is the text and the value, as unequal values may have the same text.
    """
    as_text = Sql(f"{column}::VARCHAR COLLATE POSIX")  # the collation of a session would make unequal texts equal
    if _PLAIN_TYPE.fullmatch(type_):
        return [as_text if type_ == "VARCHAR" else column]
    is_nested = type_.endswith("]") or type_.startswith(("STRUCT(", "MAP(", "UNION(", "VARIANT"))
    return [as_text, *([column] if is_nested else [])]
