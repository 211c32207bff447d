"""Honouring an erasure: the classes that somebody left go whole, and who is left of them stays out.

Who has an earlier version and the new one can subtract them. If only the erased went, the difference would be they. So
all records of their classes go with them, as one published class: the difference is then something that was published
already. They stay out as long as the ledger has a version that shows them, since their return would show who did not.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, join_sql, literal


def without(entry: LedgerEntry, publication: ReleaseSpec, cursor: Any) -> ReleaseSpec:
    """What honours an erasure after `entry`: the classes that somebody left go whole, and nobody new comes."""
    gone = [
        row[0]
        for row in cursor.execute(plan.filled("views/remaining.sql", publication, members=entry.members)).fetchall()
    ]
    ids = join_sql(literal(i) for i in gone or [-1])
    stay = Sql(f"(FROM {entry.members} WHERE class_id NOT IN ({ids}))")
    went = f"SELECT person_key, row_hash, value_hash, records FROM {entry.members} WHERE class_id IN ({ids})"
    if publication.continuity.held is not None:
        went += f" UNION ALL FROM {publication.continuity.held}"
    return publication.continued(held=Sql(f"({went})"), only=stay, keep=stay)


def statement(publication: ReleaseSpec) -> str:
    """Return the records of the source that are held back, as rows of the membership."""
    return plan.filled("views/withheld.sql", publication)


def learned(name: str, left: int, people: Mapping[str, int]) -> Iterable[str]:
    """What readers of earlier versions can still learn after an erasure, in words."""
    yield (
        f"{name}: {left} records are held back since an erasure, until the versions that show them are forgotten "
        "(forget_release). Who has such a version still has the erased records in it, in their class."
    )
    yield from (
        f"{name}: who also has {version} can still subtract sets of too few: {count} records (persons) are told apart."
        for version, count in people.items()
    )
