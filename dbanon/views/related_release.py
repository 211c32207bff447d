"""Materialized releases of related tables: created once by one statement, with a row in the ledger, and dropped."""

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
from dbanon.release.related.related_tables import RelatedTables, resolve_related_tables
from dbanon.release.related.template_tables import ReservedNames
from dbanon.release.spec import resolve
from dbanon.source import catalog
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, text
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.parameters import format_value
from dbanon.views import target as release_target, warnings
from dbanon.views.build_version import Release, library_versions, list_literal, map_literal

_RESULT_TABLE = identifier("dbanon related release")
"""A temporary table: one row with the whole result, while the tables are created."""

_FUNCTION = "create_release"


def create_related_release(
    connection: Any,
    name: str,
    algorithm: str,
    source: str,
    call_arguments: Mapping[str, Any],
    allow_small_differences: bool,
    composition: str,
) -> Release:
    """Create the tables of a release of related tables in one transaction, with a row in `dbanon.related_release`.

    The tables are `name` for the main table, `name_TABLE` for each other table, `name_classes` and `name_metrics`.

    Args:
        connection: A connection without an open transaction.
        name: The name of the release.
        algorithm: The algorithm.
        source: The main table, on which the function is called.
        call_arguments: The parameters of the call, with `entity` or `children` and `key`.
        allow_small_differences: Must be false.
        composition: The reaction to other releases of the same people: "warn" or "refuse".

    Returns:
        The release, as version 1.

    Raises:
        UnusedArgumentError: `allow_small_differences` is given.
        NotSupportedForRelatedTablesError: The name is in an attached PostgreSQL database.
        OverlappingReleaseError: The ledgers have a release of these people.
        ReleaseExistsError: A table of a needed name exists.

    Also raises the errors of a call of the function.
    """
    if allow_small_differences:
        raise errors.UnusedArgumentError(
            _FUNCTION, "allow_small_differences", "a release of related tables has one version"
        )
    parameters = json.loads(json.dumps(call_arguments, default=str))
    with release_target.open_session(connection) as (current_session, cursor, location):
        name, delivery_place = deliveries.local_name_and_target(name, cursor, location[0])
        if delivery_place is not None:
            raise errors.NotSupportedForRelatedTablesError(
                _FUNCTION,
                "a release that is copied to PostgreSQL",
                "a copy in another system is possible for one table only",
                "CREATE TABLE there AS FROM each table of a release",
            )
        target = _target(
            name,
            resolve_related_tables(
                make_call(current_session, cursor, algorithm, {"tbl": source}, parameters, location)
            ),
            location,
            cursor,
        )
        # Before planning: a table of the policy that is new is a change.
        with publishing_lock.publishing_turn(current_session, _FUNCTION, name, target[0]):
            related_tables = resolve_related_tables(
                make_call(current_session, cursor, algorithm, {"tbl": source}, parameters, location)
            )
            release_target.check_writable(cursor, _FUNCTION, target[0])
            release = _release(
                cursor, target, related_tables, source, {"function": algorithm, "parameters": parameters}
            )
            _check_free(cursor, name, release)
            query = statement.fill_related_template(related_tables, "all_tables")
            with transactions.transaction(cursor, _FUNCTION, name, [table.spec for table in related_tables.tables]):
                overlap.refuse_published_people(cursor, release, composition)
                return _create_tables(cursor, release, related_tables, query)


def _target(name: str, related_tables: RelatedTables, location: Sequence[str], cursor: Any) -> tuple[str, str, str]:
    """Return database, schema and name of a release, in the one database that has all its source tables.

    Args:
        name: The name of the release in the call.
        related_tables: The source tables.
        location: Current database, current schema and search path of the caller.
        cursor: A cursor.

    Raises:
        InvalidArgumentError: The source tables are in several databases.
        DbanonError: The errors of `release_target.release_place`.
    """
    sources = [table.spec.source for table in related_tables.tables]
    targets = [release_target.release_place(_FUNCTION, name, source, location, cursor) for source in sources]
    if len({source.home for source in sources}) > 1:
        raise errors.InvalidArgumentError(
            _FUNCTION, "children", "tables of one database", format_value([str(source.sql) for source in sources])
        )
    return targets[0]


def drop(cursor: Any, release: RelatedRelease) -> None:
    """Drop all tables of a release of related tables, and set its status in the ledger to "dropped"."""
    release_target.check_writable(cursor, "drop_release", release.database)
    with transactions.transaction(cursor, "drop_release", release.display_name):
        for ending in release.endings:
            cursor.execute(f"DROP TABLE IF EXISTS {release.table(ending)}")
        cursor.execute(f"UPDATE {release.ledger} SET status = 'dropped' WHERE {release.row}")


def forget(cursor: Any, release: RelatedRelease) -> None:
    """Delete the row of a dropped release from the ledger, so that its people may be released again.

    A release with another status stays.
    """
    release_target.check_writable(cursor, "forget_release", release.database)
    with transactions.transaction(cursor, "forget_release", release.display_name):
        cursor.execute(f"DELETE FROM {release.ledger} WHERE {release.row} AND status = 'dropped'")


def _release(
    cursor: Any, target: tuple[str, str, str], related_tables: RelatedTables, source: str, call: Mapping[str, Any]
) -> RelatedRelease:
    """Return the release that is to be created, without hashes; nothing is written.

    Args:
        cursor: A cursor.
        target: Database, schema and name of the release.
        related_tables: The resolved call.
        source: The main table as it was given.
        call: The function and its parameters.

    Raises:
        InvalidArgumentError: Two of the tables to be created would have the same name.
    """
    sources = [table.spec.source for table in related_tables.tables]
    bases = [same_source.bases(table_source, cursor) for table_source in sources]
    main_source = sources[related_tables.called_index]
    endings = ["" if s is main_source else f"_{s.table}" for s in sources]
    lower_endings = [ending.lower() for ending in (*endings, "_classes", "_metrics")]
    if len(set(lower_endings)) < len(lower_endings):
        accepts = (
            "tables with different names, none of them named classes or metrics, because each becomes a table of that "
            "name"
        )
        raise errors.InvalidArgumentError(_FUNCTION, "children", accepts, format_value([s.shown for s in sources]))
    stored_names = [
        release_target.stored_source_name(table.spec.source, table.display_name) for table in related_tables.tables
    ]
    stored_call = {
        "source": release_target.stored_source_name(main_source, source),
        "schema": release_target.source_schema(main_source),
    }
    return RelatedRelease(
        *target,
        status="published",
        source=stored_call["source"],
        tables=dict(zip(endings, stored_names, strict=True)),
        call={**call, **stored_call},
        bases=tuple(sorted({base for table_bases in bases for base in table_bases})),
        person_bases=bases[0],
        hashes={},
        columns=tuple(tuple(table_source.columns) for table_source in sources),
    )


def _check_free(cursor: Any, name: str, release: RelatedRelease) -> None:
    """Check that no published release and no table or view has the name of one of the tables to be created.

    Raises:
        ReleaseExistsError: A published release, table or view has such a name.
    """
    old = find_related_release(cursor, str(release.table()), catalog.SearchPath(release.database, release.schema))
    place = (release.database, release.schema, release.name)
    if old is not None and old.status == "published":
        raise errors.ReleaseExistsError(
            _FUNCTION,
            name,
            release_target.existing_tables(cursor, place, release.endings) or [name],
            True,
            is_several=True,
        )
    if existing_names := release_target.existing_tables(cursor, place, release.endings):
        raise errors.ReleaseExistsError(_FUNCTION, name, existing_names, False)


def _create_tables(cursor: Any, release: RelatedRelease, related_tables: RelatedTables, query: Sql) -> Release:
    """Create the tables of a release and its row in the ledger, and return the release.

    The caller has opened a transaction. `query` has one row with the whole result: the rows of each table, the classes
    and the metrics.
    """
    reserved = ReservedNames.for_tables(related_tables)
    cursor.execute(f"CREATE OR REPLACE TEMP TABLE {_RESULT_TABLE} AS {query}")
    for i, ending in enumerate(release.tables):
        cursor.execute(
            f"CREATE TABLE {release.table(ending)} AS SELECT * EXCLUDE ({reserved.row}, {reserved.place}) "
            f"FROM (SELECT unnest(t{i}, max_depth := 2) FROM {_RESULT_TABLE}) ORDER BY {reserved.place} ASC"
        )
    classes = f"(SELECT unnest(classes, max_depth := 2) FROM {_RESULT_TABLE})"
    first_column = identifier(cursor.sql(f"FROM {classes} LIMIT 0").columns[0])
    cursor.execute(f"CREATE TABLE {release.table('_classes')} AS FROM {classes} ORDER BY {first_column} ASC")
    metrics = f"(SELECT unnest(metrics, max_depth := 2) FROM {_RESULT_TABLE})"
    metric_values = dict(cursor.execute(f"SELECT metric, value FROM {metrics}").fetchall())
    cursor.execute(
        f"CREATE TABLE {release.table('_metrics')} AS "
        f"SELECT * EXCLUDE (is_publishable) FROM {metrics} WHERE is_publishable"
    )
    cursor.execute(f"DROP TABLE {_RESULT_TABLE}")
    release = replace(release, hashes=hashes.hash_tables(cursor, release, release.endings))
    _insert_ledger_row(cursor, release, related_tables, metric_values)
    count_queries = (f"(SELECT system.main.count(*) FROM {release.table(ending)})" for ending in ("", "_classes"))
    records, classes_made = cursor.execute(f"SELECT {join_sql(count_queries)}").fetchall()[0]
    _warn_of_dropped_rows(cursor, release, related_tables, metric_values)
    return Release(release.display_name, 1, records, classes_made, None)


def _warn_of_dropped_rows(
    cursor: Any, release: RelatedRelease, related_tables: RelatedTables, metrics: Mapping[str, float]
) -> None:
    """Warn of each child table many of whose rows are dropped; `metrics` has the metrics of the release by name."""
    for table, ending in list(zip(related_tables.tables, release.tables, strict=True))[1:]:
        columns = catalog.columns_of(cursor, (release.database, release.schema, release.name + ending))
        class_id = identifier(list(columns)[-1])
        n_classes, n_filled = cursor.execute(
            f"SELECT (SELECT count(*) FROM {release.table('_classes')}), "
            f"(SELECT count(DISTINCT {class_id}) FROM {release.table(ending)})"
        ).fetchall()[0]
        warnings.warn_of_dropped_rows(
            release.display_name, table.display_name, n_classes, n_classes - n_filled, metrics
        )


def _insert_ledger_row(
    cursor: Any, release: RelatedRelease, related_tables: RelatedTables, metric_values: Mapping[str, float]
) -> None:
    """Insert the row of a release of related tables into the ledger; `metric_values` has all its metrics by name."""
    publications = {table.spec.source.shown: table.spec for table in related_tables.tables}
    for spec in publications.values():
        release_target.remember_database(cursor, spec.source)
    roles = {name: plan.role_by_column(spec) for name, spec in publications.items()}
    options = {**related_tables.entity.spec.options, "l": related_tables.min_diversity}
    hierarchies = {name: text(resolve.hierarchy_fingerprint(p, cursor)) for name, p in publications.items()}
    row: dict[str, Sql] = {
        "schema_name": text(release.schema),
        "name": text(release.name),
        "status": text(release.status),
        "source": text(release.source),
        "tables": map_literal(
            {release.name + ending: text(source) for ending, source in release.tables.items()}, "VARCHAR"
        ),
        "algorithm": text(related_tables.algorithm.name),
        "statement": text(
            release_target.call_statement(release.call["function"], release.source, release.call["parameters"])
        ),
        "call": text(_json(release.call)),
        "parameters": text(_json(options)),
        "roles": text(_json(roles)),
        "policy_fingerprints": map_literal(
            {n: text(p.policy.stored_fingerprint) for n, p in publications.items()}, "VARCHAR"
        ),
        "hierarchy_fingerprints": map_literal(hierarchies, "VARCHAR"),
        "library_versions": map_literal({n: text(v) for n, v in library_versions().items()}, "VARCHAR"),
        "persons": literal(int(metric_values["persons"])),
        "released_at": Sql(f"{text(str(datetime.now(UTC).replace(tzinfo=None)))}::TIMESTAMP"),
        "metrics": map_literal({n: literal(v) for n, v in metric_values.items()}, "DOUBLE"),
        "source_tables": list_literal(release.bases),
        "person_tables": list_literal(release.person_bases),
        "hashes": map_literal({n: text(v) for n, v in release.hashes.items()}, "VARCHAR"),
    }
    columns = join_sql(map(identifier, row))
    cursor.execute(f"INSERT INTO {release.ledger} ({columns}) SELECT {join_sql(row.values())}")


def _json(value: object) -> str:
    """Return a value as JSON; types without a JSON form become lists."""
    return json.dumps(value, ensure_ascii=False, default=list)
