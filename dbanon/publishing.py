"""From a call of a function that publishes to what it publishes: source, roles, attributes, models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, cast

from dbanon import attribute, catalog, cluster, demand, errors, functions, lineage, parameters, policy
from dbanon.attribute import Attribute, Hierarchy
from dbanon.call import Call
from dbanon.publication import Publication
from dbanon.session import Session


def call(
    session: Session,
    cursor: Any,
    function: str,
    positional: Mapping[str, object],
    given: Mapping[str, object],
    places: Sequence[str],
) -> Call:
    """A call with its parameters validated. `places`: current database, current schema, search path."""
    called = functions.called(function, given)
    options = parameters.validated(called.name, called.parameters, given)
    return Call(called, positional, options, session, cursor, catalog.SearchPath.of(*places))


def publication(call: Call) -> Publication:
    """What a call publishes."""
    name = call.function.name
    source = call.source()
    declared, fingerprint_sql, fingerprint = catalog.policy_of(source, call.cursor)
    looser = partial(attribute.looser, holds=call.holds)
    roles = policy.resolve(name, source.shown, source.columns, declared, call.options, looser)
    algorithm = cluster.find(cast(str, call.function.algorithm))
    return Publication(
        function=name,
        algorithm=algorithm.name,
        kind=cast(str, call.function.kind),
        k=cast(int, call.options["k"]),
        source=source,
        roles=roles,
        attributes=tuple(_attribute(call, source, q) for q in roles.quasi),
        options=call.options,
        demands=demand.demands(name, source.shown, call.options, roles.sensitive),
        orders={column: order(call, source, column, of) for column, of in roles.orders.items()},
        own_options={p.name: call.options[p.name] for p in algorithm.own},
        fingerprint_sql=fingerprint_sql,
        fingerprint=fingerprint,
        session=call.session.token,
    )


def order(call: Call, source: catalog.Source, column: str, name: str) -> Hierarchy:
    """The hierarchy of a sensitive column."""
    found = call.hierarchy(name, source)
    if found is None:
        where = f"of {source.shown}.{column}"
        raise errors.UnknownHierarchy(call.function.name, name, where, call.known_hierarchies(source))
    return found


def _attribute(call: Call, source: catalog.Source, quasi: policy.Quasi) -> Attribute:
    return attribute.attribute(
        call.function.name,
        source.shown,
        quasi,
        find=lambda name: call.hierarchy(name, source),
        known=lambda: call.known_hierarchies(source),
        holds=call.holds,
    )


def keyed(made: Publication, key: Sequence[str] | None, kind: str = "release") -> Publication:
    """The publication with the columns that tell its people apart."""
    return replace(made, key=() if key is None or made.roles.person is not None else tuple(key), kind=kind)


def unique_key(made: Publication, cursor: Any) -> tuple[str, ...] | None:
    """The columns that tell people apart: the person, else the source's primary key, else a unique key; or None."""
    if made.roles.person is not None:
        return (made.roles.person,)
    source = made.source
    rows = cursor.execute(
        "SELECT constraint_column_names FROM duckdb_constraints() "
        "WHERE (database_name, schema_name, table_name) = (?, ?, ?) AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') "
        "ORDER BY constraint_type = 'UNIQUE', constraint_index",
        [source.database, source.schema, source.table],
    ).fetchall()
    return tuple(rows[0][0]) if rows else None


def hierarchy_fingerprint(made: Publication, cursor: Any) -> str:
    """A text that changes when a hierarchy of the publication does."""
    used = {a.quasi.column: a.hierarchy for a in made.attributes if a.hierarchy is not None} | dict(made.orders)
    every = "md5(coalesce(string_agg(r::VARCHAR, chr(10) ORDER BY r::VARCHAR), ''))"
    queries = [f"SELECT {every} FROM ({lineage.rows(hierarchy)}) AS r" for _, hierarchy in sorted(used.items())]
    pieces = [cursor.execute(query).fetchall()[0][0] for query in queries]
    return hashlib.md5("".join(pieces).encode(), usedforsecurity=False).hexdigest()
