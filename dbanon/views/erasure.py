"""Apply an erasure: remove every class that lost a member, and withhold its remaining records.

A reader of an earlier version and the new one can subtract them. If only the erased records were removed, they would be
the difference. So all records of their classes are removed with them, as one published class: the difference is then
something that was published already. They stay withheld as long as the ledger has a version that shows them, since
their return would reveal the erased ones.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import Sql, join_sql, literal


def without_erased(entry: LedgerEntry, spec: ReleaseSpec, cursor: Any) -> ReleaseSpec:
    """Return a copy of `spec` for a version after an erasure: no class that lost a member, and no new records.

    A class of `entry` lost a member if one of its records is no longer in the source, or is in it with other values.
    Records of all other classes stay in their classes. The remaining records of such classes are withheld, in addition
    to those that `spec` withholds since earlier erasures.

    Args:
        entry: The published version.
        spec: The release spec of the next version.
        cursor: A cursor; the source is read, nothing is written.
    """
    removed_rows = cursor.execute(plan.fill_release_template("views/remaining.sql", spec, members=entry.members))
    removed_classes = [class_id for (class_id,) in removed_rows.fetchall()]
    ids = join_sql(literal(i) for i in removed_classes or [-1])
    remaining = Sql(f"(FROM {entry.members} WHERE class_id NOT IN ({ids}))")
    withheld = f"SELECT person_key, row_hash, value_hash, records FROM {entry.members} WHERE class_id IN ({ids})"
    if spec.version_constraints.withheld_members is not None:
        withheld += f" UNION ALL FROM {spec.version_constraints.withheld_members}"
    return spec.with_version_constraints(
        withheld_members=Sql(f"({withheld})"), remaining_members=remaining, kept_members=remaining
    )


def residual_disclosures(
    name: str, n_withheld: int, people: Mapping[str, int], *, is_smaller: bool = True
) -> Iterable[str]:
    """Yield messages on what readers of earlier versions can still learn after an erasure.

    The first message gives the number of withheld records. There is none if no record is withheld and no class was
    removed. One more message follows for each version in `people`.

    Args:
        name: The release.
        n_withheld: The number of records that are withheld.
        people: The number of records (persons) that a reader of an earlier version can still isolate, by that version.
        is_smaller: Whether the version that was replaced has more records.
    """
    remaining = "A reader who has such a version still has the erased records, in their class."
    if n_withheld:
        yield (
            f"{name}: {n_withheld} {plural_form(n_withheld, 'record is', 'records are')} withheld since an erasure, "
            f"until the versions that show them are forgotten (forget_release). {remaining}"
        )
    elif is_smaller:
        yield f"{name}: no records are withheld, but earlier versions show the erased ones. {remaining}"
    yield from (
        f"{name}: a reader who also has {version} can still isolate {count} "
        f"{plural_form(count, 'record (person)', 'records (persons)')} by subtraction."
        for version, count in people.items()
    )
