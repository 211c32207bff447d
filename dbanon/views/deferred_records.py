"""Who waits: newcomers that are too few for a class, or miss the model, until enough have come (`refresh = 'hold'`).

A version is made as if they were not there: they are taken out of the source before anything else, and rows of the
membership say who they are. So nothing of them is published, and every later version finds them to be new.
"""

from typing import Any

from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.plan.clustering_request import request
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import Sql, as_json, qualified, text

WHO = ("nobody", "back", "new", "everybody")
"""Who waits beside those who cannot be clustered, one after the other until a version can be made: those who were shown
before and went, those who were not, all of them."""


def remember(cursor: Any, entry: LedgerEntry, old: LedgerEntry, publication: ReleaseSpec, who: str) -> ReleaseSpec:
    """Writes who waits in version `entry` after `old`, of those who came: `who`, and who cannot be clustered with the
    others; gives the publication without them. Inside a transaction. Linear in the source, and clusters nothing."""
    only = publication.continuity.only
    if only is not None:  # an erasure, to which nobody new comes
        _write(cursor, entry, publication.continued(only=None), only, "everybody")
        return publication
    if who != "nobody":
        _write(cursor, entry, publication, old.known, who)
    publication = publication.continued(waits=entry.waits)
    _write(cursor, entry, publication, old.known, "barred")
    return publication


def _write(cursor: Any, entry: LedgerEntry, publication: ReleaseSpec, known: Sql, who: str) -> None:
    """Write that those who came beside the `known` members wait, as far as they are `who`."""
    same = "person_key IS NOT DISTINCT FROM t.person_key AND "
    same += "value_hash = t.value_hash" if entry.person_key else "row_hash = t.row_hash"
    shown = Sql(
        f"EXISTS (SELECT 1 FROM {entry.membership} WHERE (schema_name, release) = ({text(entry.schema)}, "
        f"{text(entry.name)}) AND class_id IS NOT NULL AND {same})"
    )
    waiting = plan.filled(
        "views/deferred_records.sql",
        publication.continued(keep=Sql(f"(SELECT * REPLACE (coalesce(cluster_id, -1) AS cluster_id) FROM {known})")),
        request=as_json({**request(publication), "waiting": True}),
        who=who,
        shown=shown,
        waiting=True,
        suppress=None,
    )
    cursor.execute(
        f"INSERT INTO {entry.membership} BY NAME SELECT {text(entry.schema)} AS schema_name, "
        f'{text(entry.name)} AS "release", {entry.version} AS version, * FROM ({waiting})'
    )


def stay_with(cursor: Any, entry: LedgerEntry, old: LedgerEntry) -> LedgerEntry:
    """Return those who were to wait in `entry` wait in `old`, since no version is made; the ledger counts them anew."""
    forget(cursor, old)
    cursor.execute(
        f"UPDATE {old.membership} SET version = {old.version} WHERE {entry.row} AND waiting",
    )
    records, persons = counted(cursor, old)
    cursor.execute(
        f"UPDATE {qualified(old.database, SCHEMA, 'release')} SET waiting = ?, waiting_persons = ? "
        "WHERE (schema_name, name, version) = (?, ?, ?)",
        [records, persons, old.schema, old.name, old.version],
    )
    return old


def forget(cursor: Any, entry: LedgerEntry) -> None:
    """Delete who waits in a version: a later one says who does now."""
    cursor.execute(f"DELETE FROM {entry.membership} WHERE {entry.row} AND waiting")


def counted(cursor: Any, entry: LedgerEntry) -> tuple[int, int | None]:
    """How many records wait in a version, and of how many people, where a column tells (else None)."""
    records, persons = cursor.execute(
        f"SELECT coalesce(sum(records), 0), count(DISTINCT person_key) FROM {entry.waits}"
    ).fetchall()[0]
    return int(records), int(persons) if "person" in entry.roles.values() else None
