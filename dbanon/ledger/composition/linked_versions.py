"""Check versions with the same pseudonyms together: readers can follow people through them.

Net differences and intersections, by which other versions are checked, assume that readers cannot identify the same
people in two versions. Here every reader can. The check is stricter: no set of people that the versions distinguish may
miss the model.
"""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.ledger.composition import version_differences
from dbanon.ledger.composition.inherited_models import inherit_models
from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec import transformed_columns
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, literal
from dbanon.sqltext.templates import fill


def check_linked_versions(
    cursor: Any, entry: LedgerEntry, publication: ReleaseSpec, others: Sequence[LedgerEntry], old_suffix: str
) -> None:
    """Check that a version and earlier ones with its pseudonyms together meet the model.

    `old_suffix` ends the names of the tables of the version that is replaced. Linear in the rows of these versions.

    Raises:
        LinkedVersionsNotAnonymousError: They do not, or it cannot be determined.
    """
    linked = [o for o in others if set(entry.links) & set(o.links)]
    if not linked:
        return
    names = [o.named for o in linked]
    if any(len(e.links) > 1 for e in (entry, *linked)):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.shown, names, "there are pseudonyms of several columns in them"
        )
    if not _are_pseudonyms_of_persons(cursor, publication):
        reason = f"pseudonyms of {publication.links[0]} are not of one person each, so that groups can be followed"
        raise errors.LinkedVersionsNotAnonymousError(entry.shown, names, reason)
    if any(
        not version_differences.are_comparable(entry, o) or not version_differences.same_values(entry, o)
        for o in linked
    ):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.shown, names, "they publish other columns, or know people by another column"
        )
    misses = _missed_models(cursor, entry, publication, linked, old_suffix)
    if misses:
        people = max(count for _, count in misses)
        missed_parameters = ", ".join(parameter for parameter, _ in misses)
        raise errors.LinkedVersionsNotAnonymousError(
            entry.shown, names, f"{people} persons miss {missed_parameters} then"
        )


def _are_pseudonyms_of_persons(cursor: Any, publication: ReleaseSpec) -> bool:
    """Return whether pseudonyms and persons correspond one to one, so that readers can follow single persons only.

    Pseudonyms of a household, for example, would let readers follow its members together.
    """
    person, source = publication.roles.person, publication.source
    if person is None or person == publication.links[0]:
        return True
    texts = {
        name: transformed_columns.canonical_value_text(publication.read(column), source.columns[column])
        for name, column in (("person", person), ("link", publication.links[0]))
    }
    return bool(cursor.execute(fill("views/one_person.sql", source=source.rows, **texts)).fetchall()[0][0] == 0)


def _missed_models(
    cursor: Any, entry: LedgerEntry, publication: ReleaseSpec, linked: Sequence[LedgerEntry], old_suffix: str
) -> list[tuple[str, int]]:
    """Return the parameters of models that are missed, with the number of persons."""
    inherited = inherit_models(publication, linked)
    allowed_rare = {n.lower() for n in publication.options.columns("allow_rare")}
    rare = [
        literal(place)
        for place, name in enumerate(entry.values, 1)
        if entry.roles[name] in ("other", "mask", "shift") and name.lower() not in allowed_rare
    ]
    query = plan.fill_release_template(
        "ledger/composition/linked_versions.sql",
        inherited.publication,
        versions=[{"i": i, "members": v.members} for i, v in enumerate([*linked, entry])],
        last=len(linked),
        known=version_differences.live_tables(cursor, entry, linked, old_suffix),
        rare=rare,
        k=max(entry.k, *(o.k for o in linked)),
        person=Sql("person"),
        joint=inherited.joint,
        version=entry.table(),
        nulls=None,
        suppress=None,
    )
    return [(parameter, people) for parameter, _, people in cursor.execute(query).fetchall()]
