"""Materialized releases of related tables: all of them from one statement, which judges them together, with a row in
the ledger; made once, and dropped."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from dbanon import errors
from dbanon.ledger import deliveries, hashes, publishing_lock, same_source, transactions
from dbanon.ledger.composition import overlap
from dbanon.ledger.related_releases import RelatedRelease, find_related_release
from dbanon.release.plan import plan
from dbanon.release.related import statement
from dbanon.release.related.related_tables import Relation, relation
from dbanon.release.related.template_tables import Own
from dbanon.release.spec import resolve
from dbanon.runtime import session
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, argument, identifier, join_sql, literal, qualified, text
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.parameters import format_value
from dbanon.views import target as release_target
from dbanon.views.build_version import Release, library_versions, listed, mapped

_MADE = identifier("dbanon related release")
"""A temporary table: one row with all that is made, while it is made."""

_FUNCTION = "materialize"


def materialize(
    connection: Any,
    name: str,
    algorithm: str,
    source: str,
    given: Mapping[str, Any],
    allow_delta: bool,
    composition: str,
) -> Release:
    """Makes `name` of the table that is asked for, `name_TABLE` of each other table, and the classes and measures of
    the release, in one transaction, with a row in `dbanon.related_release`.

    Raises UnusedArgumentError for `allow_delta`, OverlappingReleaseError where anything was released of these people
    that the ledgers know of, ReleaseExistsError, and what a call of the function does.
    """
    if allow_delta:
        raise errors.UnusedArgumentError(_FUNCTION, "allow_delta", "a release of related tables has one version")
    parameters = json.loads(json.dumps(given, default=str))
    current = session.find_session(getattr(connection, "raw", connection))
    with current.cursor() as cursor:
        here = release_target.current(connection)
        name, there = deliveries.local_name_and_target(name, cursor, here[0])
        if there is not None:
            why, hint = "a copy in another system is of one table", "CREATE TABLE there AS FROM each table of a release"
            raise errors.NotSupportedForRelatedTablesError(
                _FUNCTION, "a release that is given back to PostgreSQL", why, hint
            )
        target = _target(
            name, relation(make_call(current, cursor, algorithm, {"tbl": source}, parameters, here)), here, cursor
        )
        # Before planning: a table of the policy that is new is a change.
        with publishing_lock.publishing_turn(current, _FUNCTION, name, target[0]):
            found = relation(make_call(current, cursor, algorithm, {"tbl": source}, parameters, here))
            release_target.check_writable(cursor, _FUNCTION, target[0])
            of = _release(cursor, target, found, source, {"function": algorithm, "parameters": parameters})
            _check_free(cursor, name, of)
            query = statement.of(found, "all_tables")
            with transactions.transaction(cursor, _FUNCTION, name, [table.publication for table in found.tables]):
                overlap.refuse_published_people(cursor, of, composition)
                return _made(cursor, of, found, query)


def _target(name: str, found: Relation, here: Sequence[str], cursor: Any) -> tuple[str, str, str]:
    """Where a release stands: in the one database of all its tables, which alone knows what else is released of them;
    InvalidArgumentError where they are in several, and what `place.target` raises."""
    sources = [table.publication.source for table in found.tables]
    targets = [release_target.target(_FUNCTION, name, source, here, cursor) for source in sources]
    if len({source.home for source in sources}) > 1:
        raise errors.InvalidArgumentError(
            _FUNCTION, "children", "tables of one database", format_value([str(source.sql) for source in sources])
        )
    return targets[0]


def drop(cursor: Any, of: RelatedRelease) -> None:
    """Drop the tables of a release. The ledger keeps that there was one."""
    release_target.check_writable(cursor, "drop", of.database)
    with transactions.transaction(cursor, "drop", of.shown):
        for ending in of.endings:
            cursor.execute(f"DROP TABLE IF EXISTS {of.table(ending)}")
        cursor.execute(f"UPDATE {of.ledger} SET status = 'dropped' WHERE {of.row}")


def forget(cursor: Any, of: RelatedRelease) -> None:
    """Delete a release that was dropped from the ledger: its people may be released anew."""
    release_target.check_writable(cursor, "forget_release", of.database)
    with transactions.transaction(cursor, "forget_release", of.shown):
        cursor.execute(f"DELETE FROM {of.ledger} WHERE {of.row} AND status = 'dropped'")


def _release(
    cursor: Any, target: tuple[str, str, str], found: Relation, source: str, call: Mapping[str, Any]
) -> RelatedRelease:
    """What is to be made, without hashes."""
    sources = [table.publication.source for table in found.tables]
    bases = [same_source.bases(of, cursor) for of in sources]
    asked = sources[found.asked]
    endings = ["" if of is asked else f"_{of.table}" for of in sources]
    lower = [ending.lower() for ending in (*endings, "_classes", "_metrics")]
    if len(set(lower)) < len(lower):
        accepts = "tables of different names, none of them classes or metrics, since each becomes a table by its name"
        raise errors.InvalidArgumentError(_FUNCTION, "children", accepts, format_value([of.shown for of in sources]))
    durable = [release_target.durable(table.publication.source, table.shown) for table in found.tables]
    kept = {"source": release_target.durable(asked, source), "schema": release_target.home_schema(asked)}
    return RelatedRelease(
        *target,
        status="published",
        source=kept["source"],
        tables=dict(zip(endings, durable, strict=True)),
        call={**call, **kept},
        bases=tuple(sorted({base for of in bases for base in of})),
        people=bases[0],
        hashes={},
        columns=tuple(tuple(of.columns) for of in sources),
    )


def _check_free(cursor: Any, name: str, of: RelatedRelease) -> None:
    """ReleaseExistsError where the name, or that of one of the tables, is taken."""
    old = find_related_release(
        cursor, str(qualified(of.database, of.schema, of.name)), catalog.SearchPath(of.database, of.schema)
    )
    at = (of.database, of.schema, of.name)
    if old is not None and old.status == "published":
        raise errors.ReleaseExistsError(
            _FUNCTION, name, release_target.taken(cursor, at, of.endings) or [name], True, is_several=True
        )
    if taken := release_target.taken(cursor, at, of.endings):
        raise errors.ReleaseExistsError(_FUNCTION, name, taken, False)


def _made(cursor: Any, of: RelatedRelease, found: Relation, query: Sql) -> Release:
    """Return the tables and the row of the ledger, in a transaction."""
    own = Own.of(found)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {_MADE} AS {query}")
    for i, ending in enumerate(of.tables):
        cursor.execute(
            f"CREATE TABLE {of.table(ending)} AS SELECT * EXCLUDE ({own.row}, {own.place}) "
            f"FROM (SELECT unnest(t{i}, max_depth := 2) FROM {_MADE}) ORDER BY {own.place} ASC"
        )
    classes = f"(SELECT unnest(classes, max_depth := 2) FROM {_MADE})"
    first = identifier(cursor.sql(f"FROM {classes} LIMIT 0").columns[0])
    cursor.execute(f"CREATE TABLE {of.table('_classes')} AS FROM {classes} ORDER BY {first} ASC")
    metrics = f"(SELECT unnest(metrics, max_depth := 2) FROM {_MADE})"
    measured = dict(cursor.execute(f"SELECT metric, value FROM {metrics}").fetchall())
    cursor.execute(
        f"CREATE TABLE {of.table('_metrics')} AS SELECT * EXCLUDE (published) FROM {metrics} WHERE published"
    )
    cursor.execute(f"DROP TABLE {_MADE}")
    of = replace(of, hashes=hashes.hash_tables(cursor, of, of.endings))
    _insert(cursor, of, found, measured)
    counted = (f"(SELECT system.main.count(*) FROM {of.table(ending)})" for ending in ("", "_classes"))
    records, classes_made = cursor.execute(f"SELECT {join_sql(counted)}").fetchall()[0]
    return Release(of.shown, 1, records, classes_made, None)


def _insert(cursor: Any, of: RelatedRelease, found: Relation, measured: Mapping[str, float]) -> None:
    """The row of the ledger."""
    publications = {table.publication.source.shown: table.publication for table in found.tables}
    for publication in publications.values():
        release_target.remember_database(cursor, publication.source)
    given = "".join(f", {identifier(n)} := {argument(v)}" for n, v in of.call["parameters"].items())
    roles = {name: plan.roles(publication) for name, publication in publications.items()}
    options = {**found.entity.publication.options, "l": found.diversity}
    hierarchies = {name: text(resolve.hierarchy_fingerprint(p, cursor)) for name, p in publications.items()}
    row: dict[str, Sql] = {
        "schema_name": text(of.schema),
        "name": text(of.name),
        "status": text(of.status),
        "source": text(of.source),
        "tables": mapped({of.name + ending: text(source) for ending, source in of.tables.items()}, "VARCHAR"),
        "algorithm": text(found.algorithm.name),
        "statement": text(f"SELECT * FROM {identifier(of.call['function'])}({text(of.source)}{given})"),
        "call": text(_json(of.call)),
        "parameters": text(_json(options)),
        "roles": text(_json(roles)),
        "policy_fingerprints": mapped({n: text(p.policy.fingerprint) for n, p in publications.items()}, "VARCHAR"),
        "hierarchy_fingerprints": mapped(hierarchies, "VARCHAR"),
        "library_versions": mapped({n: text(v) for n, v in library_versions().items()}, "VARCHAR"),
        "persons": literal(int(measured["persons"])),
        "released_at": Sql(f"{text(str(datetime.now(UTC).replace(tzinfo=None)))}::TIMESTAMP"),
        "metrics": mapped({n: literal(v) for n, v in measured.items()}, "DOUBLE"),
        "bases": listed(of.bases),
        "people": listed(of.people),
        "hashes": mapped({n: text(v) for n, v in of.hashes.items()}, "VARCHAR"),
    }
    columns: Sequence[str] = [identifier(name) for name in row]
    cursor.execute(f"INSERT INTO {of.ledger} ({join_sql(columns)}) SELECT {join_sql(row.values())}")


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=list)
