"""What has changed since a version was made, and what a refresh would show of it."""

from typing import Any

from dbanon import errors
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import releases
from dbanon.ledger.releases import Entry
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.canonical_text import FORMAT
from dbanon.source.catalog import Cursor
from dbanon.sqltext import templates
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.table_function import Call, TableFunction


def release_status(call: Call) -> Sql:
    """release_status(): the published version of every release beside its source as it is now."""
    states = [
        _state(call, entry)
        for database in call.attached()
        for entry in releases.entries(call.cursor, database, "status = 'published'")
    ]
    return Sql(templates.fill("ledger/release_status.sql", states=states))


def _state(call: Call, entry: Entry) -> dict[str, object]:
    """Template values of one release: its differences, or why they cannot be told."""
    problem: str | None = None
    changes: Sql | None = None
    policy_changed = hierarchy_changed = None
    try:
        if entry.hash_format != FORMAT:
            raise errors.EarlierHashesError("release_status", entry.shown)
        now = releases.publication(entry, call.session, call.cursor)
        changes = _changes(entry, now)
        policy_changed = now.policy.fingerprint != entry.policy_fingerprint
        hierarchy_changed = resolve.hierarchy_fingerprint(now, call.cursor) != entry.hierarchy_fingerprint
        call.cursor.execute(f"EXPLAIN {changes}").fetchall()
    except Exception as error:  # a missing source, a policy that no longer fits, a broken view: said, not raised
        problem, changes = str(error).split("\n")[0], None
    return {
        "database": text(entry.database),
        "schema": text(entry.schema),
        "name": text(entry.name),
        "version": entry.version,
        "changes": changes,
        "policy_changed": _flag(policy_changed),
        "hierarchy_changed": _flag(hierarchy_changed),
        "waiting": entry.waiting,
        "problem": Sql("NULL::VARCHAR") if problem is None else text(problem),
    }


def _changes(entry: Entry, now: ReleaseSpec, members: Sql | None = None) -> Sql:
    """How many records came, went and changed since a version, or beside some of its members."""
    return Sql(plan.filled("ledger/source_changes.sql", now, members=members or entry.members))


def is_fresh(entry: Entry, now: ReleaseSpec, cursor: Any, members: Sql | None = None) -> bool:
    """Whether source, policy and hierarchies are as they were when the version was made: release_status() of one.
    `members` are those of its records that the source is held against (default: all)."""
    return (
        now.policy.fingerprint == entry.policy_fingerprint
        and resolve.hierarchy_fingerprint(now, cursor) == entry.hierarchy_fingerprint
        and not any(cursor.execute(_changes(entry, now, members)).fetchall()[0])
    )


def _flag(value: bool | None) -> Sql:
    return Sql("NULL::BOOLEAN" if value is None else str(value).lower())


def delta_problems(call: Call) -> Sql:
    """delta_problems(release): what a refresh would show of too few people."""
    entry = releases.find(call.function.name, call.text("release"), call.cursor, call.path)
    if entry.hash_format != FORMAT:
        raise errors.EarlierHashesError(call.function.name, entry.shown)
    return pending(
        entry, releases.publication(entry, call.session, call.cursor).continued(held=held_back(entry, call.cursor))
    )


def held_back(entry: Entry, cursor: Cursor) -> Sql | None:
    """Who is held back since an erasure in what follows a version, as long as some version shows them; None: nobody."""
    same = f"(schema_name, release) = ({text(entry.schema)}, {text(entry.name)})"
    if entry.bases is None:
        return None
    who = "person_key IS NOT DISTINCT FROM w.person_key AND "
    who += "value_hash = w.value_hash" if entry.person_key else "row_hash = w.row_hash"
    relation = Sql(
        f"(SELECT person_key, row_hash, value_hash, records FROM {entry.membership} AS w "
        f"WHERE {same} AND version = {entry.version} AND held AND EXISTS "
        f"(SELECT 1 FROM {entry.membership} WHERE {same} AND class_id IS NOT NULL AND {who}))"
    )
    return relation if cursor.execute(f"SELECT 1 FROM {relation} LIMIT 1").fetchall() else None


def pending(entry: Entry, now: ReleaseSpec) -> Sql:
    """What a refresh that keeps classes would show by itself.

    CannotKeepClassesError where other columns are published now.
    """
    check_roles(entry, now)
    return Sql(
        plan.filled(
            "ledger/pending_differences.sql",
            now,
            members=entry.members,
            version=entry.table(),
            by_person=now.roles.person is not None,
        )
    )


def check_roles(entry: Entry, now: ReleaseSpec) -> None:
    """Raise CannotKeepClassesError where a record is no longer known by the same columns."""
    if now.run.widens:
        raise errors.CannotKeepClassesError(
            entry.shown, f"{now.algorithm} publishes more of a class than its records span."
        )
    changed = releases.changed_roles(entry, plan.roles(now))
    if changed:
        raise errors.CannotKeepClassesError(entry.shown, f"columns have another role: {', '.join(changed)}.")


FUNCTIONS = (
    TableFunction(
        "release_status",
        (),
        (),
        "Published releases beside their sources: fresh or stale, records that came, went and changed, changed policy.",
        handler=release_status,
        example=Example("SELECT name, status, came, went, changed FROM release_status();", SAFE),
    ),
    TableFunction(
        "delta_problems",
        ("release",),
        (),
        "Classes of the published version that a refresh would change by too few records (persons).",
        handler=delta_problems,
        example=Example("SELECT * FROM delta_problems('safe');", SAFE),
    ),
)
