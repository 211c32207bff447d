"""Compute hashes of the present format for versions with hashes of an earlier one, from records still in the source."""

from typing import Any

from dbanon import errors
from dbanon.ledger import releases
from dbanon.release.plan import plan
from dbanon.runtime.session import Session
from dbanon.source.canonical_text import FORMAT
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import qualified, text

_NOT_COMPARABLE = 1
"""The format of versions of which the source has no record any more; they are not tried again."""


def rehash(current: Session, cursor: Any, database: str) -> None:
    """Replace hashes of an earlier format for all versions in the ledger of a database, in a transaction per version.

    Records that are no longer in the source keep their hashes, and so count as removed. A version of which the source
    has no record is marked as not comparable, and not tried again. Linear in the records of each such version and its
    source; done once.
    """
    for entry in releases.entries(cursor, database, "hash_format IS NULL"):
        cursor.execute("BEGIN")
        try:
            cursor.execute(
                f"UPDATE {qualified(entry.database, SCHEMA, 'release')} SET hash_format = ? "
                "WHERE (schema_name, name, version) = (?, ?, ?)",
                [
                    FORMAT if _replace_hashes(current, cursor, entry) else _NOT_COMPARABLE,
                    entry.schema,
                    entry.name,
                    entry.version,
                ],
            )
            cursor.execute("COMMIT")
        except BaseException:
            cursor.execute("ROLLBACK")
            raise


def _replace_hashes(current: Session, cursor: Any, entry: releases.LedgerEntry) -> int:
    """Replace the hashes of one version in dbanon.membership; return the number of changed rows.

    0, without a change, if the version was stored without base tables, its call can no longer be planned, columns have
    other roles now, or no record is still in the source.
    """
    if entry.bases is None:
        return 0
    try:
        spec = releases.current_spec(entry, current, cursor)
    except errors.DbanonError:  # its source is gone, or its call does not fit any more
        return 0
    if plan.role_by_column(spec) != dict(entry.roles):
        return 0
    query = plan.fill_release_template("ledger/people/rehashed.sql", spec)
    return int(
        cursor.execute(
            f"UPDATE {entry.membership} AS m SET row_hash = n.row_hash, "
            "person_key = n.person_key, value_hash = n.value_hash, cells = n.cells, quasi_cells = n.quasi_cells "
            f"FROM ({query}) AS n WHERE (m.schema_name, m.release, m.version) = "
            f"({text(entry.schema)}, {text(entry.name)}, {entry.version}) "
            "AND m.row_hash = n.old_row_hash AND m.person_key IS NOT DISTINCT FROM n.old_person_key"
        ).fetchall()[0][0]
    )
