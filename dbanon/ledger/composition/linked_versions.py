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
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, others: Sequence[LedgerEntry], old_suffix: str
) -> None:
    """Check that a version and earlier ones with its pseudonyms together meet the model.

    `old_suffix` ends the names of the tables of the version that is replaced. Linear in the rows of these versions.

    Raises:
        LinkedVersionsNotAnonymousError: They do not, or it cannot be determined.
    """
    linked_versions = [o for o in others if set(entry.pseudonym_keys) & set(o.pseudonym_keys)]
    if not linked_versions:
        return
    names = [o.version_name for o in linked_versions]
    if any(len(e.pseudonym_keys) > 1 for e in (entry, *linked_versions)):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.display_name, names, "there are pseudonyms of several columns in them"
        )
    if not _are_pseudonyms_of_persons(cursor, spec):
        column = spec.pseudonym_columns[0]
        reason = f"pseudonyms of {column} are not of one person each, so that groups can be followed"
        raise errors.LinkedVersionsNotAnonymousError(entry.display_name, names, reason)
    if any(
        not version_differences.are_comparable(entry, o) or not version_differences.same_values(entry, o)
        for o in linked_versions
    ):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.display_name, names, "they publish other columns, or know people by another column"
        )
    misses = _missed_models(cursor, entry, spec, linked_versions, old_suffix)
    if misses:
        people = max(count for _, count in misses)
        missed_parameters = ", ".join(parameter for parameter, _ in misses)
        raise errors.LinkedVersionsNotAnonymousError(
            entry.display_name, names, f"{people} persons miss {missed_parameters} then"
        )


def _are_pseudonyms_of_persons(cursor: Any, spec: ReleaseSpec) -> bool:
    """Return whether pseudonyms and persons correspond one to one, so that readers can follow single persons only.

    Pseudonyms of a household, for example, would let readers follow its members together.
    """
    person, source = spec.roles.person, spec.source
    if person is None or person == spec.pseudonym_columns[0]:
        return True
    texts = {
        name: transformed_columns.canonical_value_text(spec.column_sql(column), source.columns[column])
        for name, column in (("person", person), ("link", spec.pseudonym_columns[0]))
    }
    return bool(cursor.execute(fill("views/one_person.sql", source=source.rows, **texts)).fetchall()[0][0] == 0)


def _missed_models(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, linked_versions: Sequence[LedgerEntry], old_suffix: str
) -> list[tuple[str, int]]:
    """Return the parameters of models that are missed, with the number of persons."""
    inherited = inherit_models(spec, linked_versions)
    allowed_rare = {n.lower() for n in spec.options.columns("allow_rare")}
    rare = [
        literal(place)
        for place, name in enumerate(entry.values, 1)
        if entry.roles[name] in ("insensitive", "mask", "shift") and name.lower() not in allowed_rare
    ]
    query = plan.fill_release_template(
        "ledger/composition/linked_versions.sql",
        inherited.spec,
        versions=[{"i": i, "members": v.members} for i, v in enumerate([*linked_versions, entry])],
        last=len(linked_versions),
        known=version_differences.live_tables(cursor, entry, linked_versions, old_suffix),
        rare=rare,
        k=max(entry.k, *(o.k for o in linked_versions)),
        person=Sql("person"),
        joint=inherited.joint,
        version=entry.table(),
        nulls=None,
        suppress=None,
    )
    return [(parameter, people) for parameter, _, people in cursor.execute(query).fetchall()]
