"""Versions with the same pseudonyms: readers follow people through them, so that all together must meet the model.

Net differences and intersections, which other versions are held against, take it that nobody knows who is who. Here
everybody does. What is judged is stricter: nothing that a version sets apart may miss the model, whoever asks for it.
"""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.ledger.composition import version_differences
from dbanon.ledger.composition.inherited_models import promised
from dbanon.ledger.releases import Entry
from dbanon.release.plan import plan
from dbanon.release.spec import transformed_columns
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, literal
from dbanon.sqltext.templates import fill


def check(cursor: Any, entry: Entry, publication: ReleaseSpec, others: Sequence[Entry], moved: str) -> None:
    """LinkedVersionsNotAnonymousError where a version and earlier ones with its pseudonyms tell people apart that are
    too few.

    `moved` ends the names of tables of the version that is replaced. Linear in the rows of these versions.
    """
    mine = [o for o in others if set(entry.links) & set(o.links)]
    if not mine:
        return
    names = [o.named for o in mine]
    if any(len(e.links) > 1 for e in (entry, *mine)):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.shown, names, "there are pseudonyms of several columns in them"
        )
    if not _of_persons(cursor, publication):
        why = f"pseudonyms of {publication.links[0]} are not of one person each, so that groups can be followed"
        raise errors.LinkedVersionsNotAnonymousError(entry.shown, names, why)
    if any(not version_differences.comparable(entry, o) or not version_differences.same_values(entry, o) for o in mine):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.shown, names, "they publish other columns, or know people by another column"
        )
    found = _missed(cursor, entry, publication, mine, moved)
    if found:
        people = max(count for _, count in found)
        missed = ", ".join(parameter for parameter, _ in found)
        raise errors.LinkedVersionsNotAnonymousError(entry.shown, names, f"{people} persons miss {missed} then")


def _of_persons(cursor: Any, publication: ReleaseSpec) -> bool:
    """Whether each pseudonym is that of one person, and each person has one: trails of persons are what readers see
    then. Those of a household, say, would be followed together."""
    person, source = publication.roles.person, publication.source
    if person is None or person == publication.links[0]:
        return True
    texts = {
        name: transformed_columns.as_text(publication.read(column), source.columns[column])
        for name, column in (("person", person), ("link", publication.links[0]))
    }
    return bool(cursor.execute(fill("views/one_person.sql", source=source.rows, **texts)).fetchall()[0][0] == 0)


def _missed(
    cursor: Any, entry: Entry, publication: ReleaseSpec, mine: Sequence[Entry], moved: str
) -> list[tuple[str, int]]:
    """Return the parameters that are missed, with the number of persons."""
    wanted = promised(publication, mine)
    allowed = {n.lower() for n in publication.options.columns("allow_rare")}
    rare = [
        literal(place)
        for place, name in enumerate(entry.values, 1)
        if entry.roles[name] in ("other", "mask", "shift") and name.lower() not in allowed
    ]
    query = plan.filled(
        "ledger/composition/linked_versions.sql",
        wanted.publication,
        versions=[{"i": i, "members": v.members} for i, v in enumerate([*mine, entry])],
        last=len(mine),
        known=version_differences.live(cursor, entry, mine, moved),
        rare=rare,
        k=max(entry.k, *(o.k for o in mine)),
        person=Sql("person"),
        joint=wanted.joint,
        version=entry.table(),
        nulls=None,
        suppress=None,
    )
    return [(parameter, people) for parameter, _, people in cursor.execute(query).fetchall()]
