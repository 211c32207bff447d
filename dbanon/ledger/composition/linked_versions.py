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
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, literal
from dbanon.sqltext.templates import fill


def check_linked_versions(
    cursor: Any, entry: LedgerEntry, spec: ReleaseSpec, others: Sequence[LedgerEntry], old_suffix: str
) -> None:
    """Check that a new version and the earlier versions with the same pseudonyms together meet the privacy models.

    Return without a check if no earlier version shares a pseudonym key with the new one. Linear in the rows of these
    versions.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: The release spec of the new version.
        others: Earlier versions of the same people.
        old_suffix: Suffix that the table names of the replaced version have until the new one is complete.

    Raises:
        LinkedVersionsNotAnonymousError: Persons miss a model; or this cannot be checked, since a version has pseudonyms
            of several columns, pseudonyms and persons do not correspond one to one, or the versions publish other
            columns or identify people by other columns.
    """
    linked_versions = [o for o in others if set(entry.pseudonym_keys) & set(o.pseudonym_keys)]
    if not linked_versions:
        return
    names = [o.version_name for o in linked_versions]
    if any(len(e.pseudonym_keys) > 1 for e in (entry, *linked_versions)):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.display_name, names, "they have pseudonyms of several columns", ""
        )
    if not _are_pseudonyms_of_persons(cursor, spec):
        column = spec.pseudonym_columns[0]
        reason = f"a pseudonym of {column} can belong to several persons, so readers can follow groups"
        raise errors.LinkedVersionsNotAnonymousError(entry.display_name, names, reason, "")
    if any(
        not version_differences.are_comparable(entry, o) or not version_differences.same_values(entry, o)
        for o in linked_versions
    ):
        raise errors.LinkedVersionsNotAnonymousError(
            entry.display_name, names, "they publish other columns, or identify people by another column", ""
        )
    misses = _missed_models(cursor, entry, spec, linked_versions, old_suffix)
    if misses:
        people = max(count for _, count in misses)
        missed_parameters = ", ".join(parameter for parameter, _ in misses)
        raise errors.LinkedVersionsNotAnonymousError(
            entry.display_name,
            names,
            f"{people} {plural_form(people, 'person then misses', 'persons then miss')} {missed_parameters}",
            errors.LinkedVersionsNotAnonymousError.keep_classes,
        )


def _are_pseudonyms_of_persons(cursor: Any, spec: ReleaseSpec) -> bool:
    """Return whether pseudonyms and persons in the present source correspond one to one.

    True without a query if no person column is declared or the person column itself is the pseudonymized one.
    Pseudonyms of a household, for example, do not correspond: they would let readers follow its members together. Only
    the first pseudonymized column is examined.
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
    """Return (model parameter, number of persons) for each privacy model that the versions together miss.

    Empty if all models are met. Runs the template `linked_versions.sql` with the greatest k of all versions and the
    models that they require. It also checks rare values of columns that are published unchanged, masked or shifted,
    except those in `allow_rare`.

    Args:
        cursor: A cursor within the transaction that creates the version.
        entry: The new version.
        spec: Its release spec.
        linked_versions: The earlier versions with the same pseudonyms.
        old_suffix: Suffix of the table names of the version that is replaced.
    """
    inherited = inherit_models(spec, linked_versions)
    allowed_rare = {fold_case(n) for n in spec.options.columns("allow_rare")}
    rare = [
        literal(place)
        for place, name in enumerate(entry.values, 1)
        if entry.roles[name] in ("insensitive", "mask", "shift") and fold_case(name) not in allowed_rare
    ]
    query = plan.fill_release_template(
        "ledger/composition/linked_versions.sql",
        inherited.spec,
        versions=[{"i": i, "members": v.members} for i, v in enumerate([*linked_versions, entry])],
        last=len(linked_versions),
        known=version_differences.live_tables(cursor, entry, linked_versions, entry.values, old_suffix),
        rare=rare,
        k=max(entry.k, *(o.k for o in linked_versions)),
        person=Sql("person"),
        joint=inherited.joint,
        version=entry.table(),
        nulls=None,
        suppress=None,
    )
    return [(parameter, people) for parameter, _, people in cursor.execute(query).fetchall()]
