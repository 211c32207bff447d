"""Versions with the same pseudonyms: readers follow people through them, so that all together must meet the model.

Net differences and intersections, which other versions are held against, take it that nobody knows who is who. Here
everybody does. What is judged is stricter: nothing that a version sets apart may miss the model, whoever asks for it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.release import plan
from dbanon.release.publication import Publication
from dbanon.sqltext.quote import Sql, literal
from dbanon.views import sequence
from dbanon.views.ledger import Entry
from dbanon.views.promised import promised


def check(cursor: Any, entry: Entry, publication: Publication, others: Sequence[Entry], moved: str) -> None:
    """LinkedVersions where a version and earlier ones with its pseudonyms tell people apart that are too few. `moved`
    ends the names of tables of the version that is replaced. Linear in the rows of these versions."""
    mine = [o for o in others if entry.link is not None and o.link == entry.link]
    if not mine:
        return
    names = [o.named for o in mine]
    if any(not sequence.comparable(entry, o) or not sequence.same_values(entry, o) for o in mine):
        raise errors.LinkedVersions(entry.shown, names, "they publish other columns, or know people by another column")
    found = _missed(cursor, entry, publication, mine, moved)
    if found:
        people = max(count for _, count in found)
        missed = ", ".join(parameter for parameter, _ in found)
        raise errors.LinkedVersions(entry.shown, names, f"{people} persons miss {missed} then")


def _missed(
    cursor: Any, entry: Entry, publication: Publication, mine: Sequence[Entry], moved: str
) -> list[tuple[str, int]]:
    """The parameters that are missed, with the number of persons."""
    wanted = promised(publication, mine)
    allowed = {n.lower() for n in publication.options.columns("allow_rare")}
    rare = [
        literal(place)
        for place, name in enumerate(entry.values, 1)
        if entry.roles[name] in ("other", "mask", "shift") and name.lower() not in allowed
    ]
    query = plan.filled(
        "views/linked.sql",
        wanted.publication,
        versions=[{"i": i, "members": v.members} for i, v in enumerate([*mine, entry])],
        last=len(mine),
        known=sequence.live(cursor, entry, mine, moved),
        rare=rare,
        k=max(entry.k, *(o.k for o in mine)),
        person=Sql("person"),
        joint=wanted.joint,
        version=entry.table(),
        nulls=None,
        suppress=None,
    )
    return [(parameter, people) for parameter, _, people in cursor.execute(query).fetchall()]
