"""Defer new records until they can form a class that meets the model (`mode = 'hold'`).

A version is created as if deferred records did not exist: they are removed from the source first, and rows of the
membership list them. So nothing about them is published, and every later version treats them as new.
"""

from typing import Any

from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import cluster_request
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import Sql, as_json, qualified, text

DEFERRED_GROUPS = ("nobody", "back", "new", "everybody")
"""Groups deferred in addition to records that cannot be clustered, tried in this order until a version can be created:
none, records that were published earlier and removed, records that were not, all of them."""


def defer_records(cursor: Any, entry: LedgerEntry, old: LedgerEntry, spec: ReleaseSpec, group: str) -> ReleaseSpec:
    """Write to the membership which new records version `entry` defers, and return the spec without these records.

    Deferred are the new records of `group`, and in any case those that cannot be clustered or have values too rare to
    publish. If `spec` applies an erasure, all new records are deferred, and `spec` is returned unchanged. The caller
    has opened a transaction. Linear in the source; clusters nothing.

    Args:
        cursor: A cursor.
        entry: The new version.
        old: The published version; records that are not in it are new.
        spec: The release spec of the new version.
        group: "nobody" (no group), "back" (new records that an earlier version published), "new" (those that none
            published) or "everybody" (all new records).
    """
    only_members = spec.version_constraints.remaining_members
    if only_members is not None:  # an erasure adds no new records
        _insert_deferred(
            cursor, entry, spec.with_version_constraints(remaining_members=None), only_members, "everybody"
        )
        return spec
    if group != "nobody":
        _insert_deferred(cursor, entry, spec, old.retained_members, group)
    spec = spec.with_version_constraints(deferred_members=entry.deferred_members)
    _insert_deferred(cursor, entry, spec, old.retained_members, "barred")
    return spec


def _insert_deferred(cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, members: Sql, group: str) -> None:
    """Insert records of the source that are not in `members` into the membership, as deferred records of `entry`.

    Args:
        cursor: A cursor within a transaction.
        entry: The version that defers them.
        spec: The release spec of the version.
        members: Rows of the membership with the records that are not new.
        group: "back" (only records that an earlier version published), "new" (only others), "everybody", or "barred"
            (only records that cannot be clustered or have values too rare to publish).
    """
    compared_hash = "value_hash" if entry.person_key else "row_hash"
    same_record = f"person_key IS NOT DISTINCT FROM t.person_key AND {compared_hash} = t.{compared_hash}"
    was_published = Sql(
        f"EXISTS (SELECT 1 FROM {entry.membership} WHERE (schema_name, release) = ({text(entry.schema)}, "
        f"{text(entry.name)}) AND class_id IS NOT NULL AND {same_record})"
    )
    deferred = plan.fill_release_template(
        "views/deferred_records.sql",
        spec.with_version_constraints(
            kept_members=Sql(f"(SELECT * REPLACE (coalesce(cluster_id, -1) AS cluster_id) FROM {members})")
        ),
        request=as_json({**cluster_request(spec), "waiting": True}),
        who=group,
        shown=was_published,
        waiting=True,
        suppress=None,
    )
    cursor.execute(
        f"INSERT INTO {entry.membership} BY NAME SELECT {text(entry.schema)} AS schema_name, "
        f'{text(entry.name)} AS "release", {entry.version} AS version, * FROM ({deferred})'
    )


def move_to_old_version(cursor: Any, entry: LedgerEntry, old: LedgerEntry) -> LedgerEntry:
    """Move the deferred records of `entry` to the published version `old`, and return `old`.

    This is for a refresh that creates no version. The earlier deferred records of `old` are deleted, and its counts of
    deferred records in the ledger are updated.
    """
    delete_deferred(cursor, old)
    cursor.execute(f"UPDATE {old.membership} SET version = {old.version} WHERE {entry.row} AND waiting")
    records, persons = count_deferred(cursor, old)
    cursor.execute(
        f"UPDATE {qualified(old.database, SCHEMA, 'release')} SET waiting = ?, waiting_persons = ? "
        "WHERE (schema_name, name, version) = (?, ?, ?)",
        [records, persons, old.schema, old.name, old.version],
    )
    return old


def delete_deferred(cursor: Any, entry: LedgerEntry) -> None:
    """Delete the rows of the deferred records of a version from dbanon.membership."""
    cursor.execute(f"DELETE FROM {entry.membership} WHERE {entry.row} AND waiting")


def count_deferred(cursor: Any, entry: LedgerEntry) -> tuple[int, int | None]:
    """Return the number of deferred records of a version, and of the people they are about.

    The second number is None if no column has the role person.
    """
    records, persons = cursor.execute(
        f"SELECT coalesce(sum(records), 0), count(DISTINCT person_key) FROM {entry.deferred_members}"
    ).fetchall()[0]
    return int(records), int(persons) if "person" in entry.roles.values() else None
