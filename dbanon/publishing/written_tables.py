"""Read the tables of a version back after they were written; nothing is written here."""

from typing import Any

from dbanon import errors
from dbanon.ledger.releases import LedgerEntry
from dbanon.publishing import record_groups
from dbanon.release.plan import metrics, plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source import catalog
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import Sql


def check_tables(function: str, cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, is_private: bool = False) -> None:
    """Compare the tables of a version, in the transaction that created them, with what the release gate passed.

    The values and counts of each class are not compared here, but with the membership
    (`views/unchanged_source_check.sql`).

    Args:
        function: The called function, for messages.
        cursor: A cursor within the transaction.
        entry: The version.
        spec: Its release spec.
        is_private: Whether only this process can read the database, which then has the distinct rows of the release
            (see `record_groups`).

    Raises:
        OutputDiffersError: Rows are not ordered by class and unchanged values, the table of classes shows other values
            than the release, or a published metric is for the custodian only.

    O(rows) time.
    """
    columns = catalog.columns_of(cursor, (entry.database, entry.schema, entry.name))
    groups = record_groups.stored(cursor, entry, columns) if is_private else None
    misplaced, other_classes = cursor.execute(
        plan.fill_release_template(
            "publishing/misplaced_values.sql",
            spec,
            version=entry.table(),
            classes=entry.table("_classes"),
            groups=groups or entry.table(),
            nulls=None,
            suppress=None,
        )
    ).fetchall()[0]
    if misplaced:
        raise errors.OutputDiffersError(
            function,
            entry.display_name,
            f"{misplaced} {plural_form(misplaced, 'row is', 'rows are')} not in the order of their values",
        )
    if other_classes:
        raise errors.OutputDiffersError(
            function,
            entry.display_name,
            f"{other_classes} {plural_form(other_classes, 'class has', 'classes have')} other published values",
        )
    withheld = withheld_metrics(cursor, entry.table("_metrics"), entry.options.get("leaves"))
    if withheld is not None:
        raise errors.OutputDiffersError(function, entry.display_name, withheld)


def withheld_metrics(cursor: Any, relation: Sql, leaves: object) -> str | None:
    """Return words for a message that name the metrics in a relation that are for the custodian only.

    Returns None if there are none. `relation` has the column `metric`; `leaves` is the parameter of the release.
    """
    metric_names = [str(row[0]) for row in cursor.execute(f"SELECT metric FROM {relation}").fetchall()]
    withheld = [name for name in metric_names if not metrics.is_published(name, leaves)]
    return f"it has metrics that are for the custodian only ({', '.join(withheld)})" if withheld else None
