"""Compare published versions with their present sources: changes since a version, and what a refresh would publish."""

from typing import Any

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.canonical_text import FORMAT
from dbanon.source.catalog import Cursor
from dbanon.sqltext import templates
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.table_function import Call, TableFunction


def release_status(call: Call) -> Sql:
    """Return the SQL of the table function release_status(): published versions compared with their present sources.

    It gives one row for each published version in an attached database. A version that cannot be compared is a row with
    the reason.
    """
    states = [
        _status_values(call, entry)
        for database in call.attached_databases()
        for entry in releases.entries(call.cursor, database, "status = 'published'")
    ]
    return Sql(templates.fill("ledger/release_status.sql", states=states))


def _status_values(call: Call, entry: LedgerEntry) -> dict[str, object]:
    """Return the template values of one published version: changes of its source, of the policy and of hierarchies.

    `changes` is the query that counts changed records of the source. Texts and booleans are SQL. No exception is
    raised: if the comparison fails, `problem` is the first line of the error and `changes` is None; else `problem` is
    NULL.
    """
    problem: str | None = None
    changes: Sql | None = None
    policy_changed = hierarchy_changed = None
    try:
        if entry.hash_format != FORMAT:
            raise errors.EarlierHashesError("release_status", entry.display_name)
        spec = releases.current_spec(entry, call.session, call.cursor)
        changes = _source_changes(entry, spec)
        policy_changed = spec.policy.stored_fingerprint != entry.policy_fingerprint
        hierarchy_changed = resolve.hierarchy_fingerprint(spec, call.cursor) != entry.hierarchy_fingerprint
        call.cursor.execute(f"EXPLAIN {changes}").fetchall()
    except Exception as error:  # a missing source, a policy that no longer fits, a broken view: said, not raised
        problem, changes = str(error).split("\n")[0], None
    return {
        "database": text(entry.database),
        "schema": text(entry.schema),
        "name": text(entry.name),
        "version": entry.version,
        "changes": changes,
        "policy_changed": _boolean_literal(policy_changed),
        "hierarchy_changed": _boolean_literal(hierarchy_changed),
        "waiting": entry.n_deferred,
        "problem": Sql("NULL::VARCHAR") if problem is None else text(problem),
    }


def _source_changes(entry: LedgerEntry, spec: ReleaseSpec, members: Sql | None = None) -> Sql:
    """Return a query of one row: how many records were added, removed and changed in the source since a version.

    `spec` is the release spec for the present source. `members` is SQL of the records of the version that are compared
    (default: all).
    """
    return Sql(
        plan.fill_release_template(
            "ledger/source_changes.sql",
            spec,
            members=members or entry.members,
            settled_members=entry.settled_members,
            retained_members=entry.retained_members,
            deferred_members=entry.deferred_members if members is None and entry.n_deferred > 0 else None,
        )
    )


def is_fresh(entry: LedgerEntry, spec: ReleaseSpec, cursor: Any, members: Sql | None = None) -> bool:
    """Return whether source, policy and hierarchies are unchanged since a version was created.

    `spec` is the release spec for the present source. `members` is SQL of the records of the version that are compared
    with the source (default: all).
    """
    return (
        spec.policy.stored_fingerprint == entry.policy_fingerprint
        and resolve.hierarchy_fingerprint(spec, cursor) == entry.hierarchy_fingerprint
        and not any(cursor.execute(_source_changes(entry, spec, members)).fetchall()[0])
    )


def _boolean_literal(value: bool | None) -> Sql:
    """Return a boolean as SQL: `true` or `false`; NULL for None."""
    return Sql("NULL::BOOLEAN" if value is None else str(value).lower())


def refresh_problems(call: Call) -> Sql:
    """Return the SQL of refresh_problems(): changes of classes that are too small to be published by a refresh.

    For each class these are the records that a refresh which keeps classes would remove, keep or add, if they alone do
    not meet the privacy models. The argument of the call names the release.

    Raises:
        EarlierHashesError: The hashes of the version have an earlier format.
        CannotKeepClassesError: Columns have another role now, or the algorithm cannot keep classes.
    """
    entry = releases.find_release(call.function.name, call.text("release"), call.cursor, call.path)
    if entry.hash_format != FORMAT:
        raise errors.EarlierHashesError(call.function.name, entry.display_name)
    return pending_differences(
        entry,
        releases.current_spec(entry, call.session, call.cursor).with_version_constraints(
            withheld_members=withheld_records(entry, call.cursor)
        ),
    )


def withheld_records(entry: LedgerEntry, cursor: Cursor) -> Sql | None:
    """Return SQL of the records of a version that were withheld after an erasure and that some version still publishes.

    Only versions of the same release count. None if there are no such records, or the ledger does not have the columns
    to find them.
    """
    release_condition = f"(schema_name, release) = ({text(entry.schema)}, {text(entry.name)})"
    if entry.bases is None:
        return None
    compared_hash = "value_hash" if entry.person_key else "row_hash"
    same_record = f"person_key IS NOT DISTINCT FROM w.person_key AND {compared_hash} = w.{compared_hash}"
    relation = Sql(
        f"(SELECT person_key, row_hash, value_hash, records FROM {entry.membership} AS w "
        f"WHERE {release_condition} AND version = {entry.version} AND held AND EXISTS "
        f"(SELECT 1 FROM {entry.membership} WHERE {release_condition} AND class_id IS NOT NULL AND {same_record}))"
    )
    return relation if cursor.execute(f"SELECT 1 FROM {relation} LIMIT 1").fetchall() else None


def pending_differences(entry: LedgerEntry, spec: ReleaseSpec) -> Sql:
    """Return a query for the changes of classes that are too small to be published by a refresh which keeps classes.

    For each class these are the records that would be removed, kept or added, if they alone miss a privacy model.

    Args:
        entry: The latest version.
        spec: The release spec for the present source.

    Raises:
        CannotKeepClassesError: Columns have another role now, or the algorithm cannot keep classes.
    """
    check_roles(entry, spec)
    return Sql(
        plan.fill_release_template(
            "ledger/pending_differences.sql",
            spec,
            members=entry.members,
            version=entry.table(),
            by_person=spec.roles.person is not None,
        )
    )


def check_roles(entry: LedgerEntry, spec: ReleaseSpec) -> None:
    """Check that classes of a version can be kept: the columns that identify records have the roles that they had.

    Raises:
        CannotKeepClassesError: A column has another role, or the algorithm publishes wider ranges than the records of a
            class cover.
    """
    if spec.run.widens_classes:
        raise errors.CannotKeepClassesError(
            entry.display_name, f"{spec.algorithm} publishes more of a class than its records span."
        )
    role_changes = releases.changed_roles(entry, plan.role_by_column(spec))
    if role_changes:
        raise errors.CannotKeepClassesError(
            entry.display_name, f"roles of columns have changed: {', '.join(role_changes)}."
        )


FUNCTIONS = (
    TableFunction(
        "release_status",
        (),
        (),
        "Compares published releases with their sources: fresh or stale, number of added, removed and changed "
        "records, and whether the policy changed.",
        handler=release_status,
        example=Example("SELECT name, status, added, removed, changed FROM release_status();", SAFE),
    ),
    TableFunction(
        "refresh_problems",
        ("release",),
        (),
        "Lists the classes of the published version that a refresh would change by too few records (persons).",
        handler=refresh_problems,
        example=Example("SELECT * FROM refresh_problems('safe');", SAFE),
    ),
)
