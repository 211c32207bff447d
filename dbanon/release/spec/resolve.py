"""From a call of a function that publishes to what it publishes: source, roles, attributes, models."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from dbanon import algorithms, errors
from dbanon.algorithms.base.registry import (
    Exclusion,
    InfluenceWeighting,
    NoiseRelease,
    OwnSearch,
    Suppression,
    Widening,
)
from dbanon.algorithms.influence_forest import ForestRequest
from dbanon.policy import attribute, column_roles, missing_codes
from dbanon.policy.hierarchies import hierarchy_sql, lookup
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.privacy_models import model_request
from dbanon.release.spec import related_parameters as related, transformed_columns
from dbanon.release.spec.release_spec import Cleaning, ReleaseSpec, Run, SourceReading
from dbanon.source import catalog, collations, column_types
from dbanon.source.applicable_policy import applicable_policy
from dbanon.source.stored_policy import Policy
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions import parameters
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call, TableFunction


def resolve_spec(call: Call, view: tuple[str, str] | None = None) -> ReleaseSpec:
    """Return what a call publishes, as of a `view` (see `with_transformed`).

    Raises:
        NotSupportedForRelatedTablesError, UnusedArgumentError: It is about several tables, or should be.
    """
    related.refuse(call.function.name, call.options)
    algorithm = algorithms.find(str(call.function.algorithm))
    looks_up = algorithm.looks_up is not None and call.options[algorithm.looks_up] is not None
    publication = prepared(
        call, call.options, algorithm.name, str(call.function.kind), ontology={} if looks_up else None
    )
    roles = publication.roles
    if looks_up and roles.sensitive and not publication.orders:
        table, column = publication.source.shown, roles.sensitive[0]
        raise errors.SensitiveHierarchyMissingError(call.function.name, table, column, str(algorithm.looks_up))
    noise = noise_of(call.function, call.options)
    publication = running(publication, algorithm)
    cleaning, exclusion, own = Cleaning(), algorithm.ability(Exclusion), publication.run.options
    if exclusion is not None:
        cleaning = Cleaning(_bounds(call, publication, exclusion.bounds(own)), exclusion.duplicates(own))
    return with_transformed(replace(publication, run=replace(publication.run, noise=noise, cleaning=cleaning)), view)


def running(publication: ReleaseSpec, algorithm: algorithms.Algorithm) -> ReleaseSpec:
    """Return the publication with what a run of the algorithm is given.

    SensitiveColumnMissingError, InvalidArgumentError.
    """
    options = publication.options
    own = {p.name: options[p.name] for p in algorithm.own}
    influence, suppression = algorithm.ability(InfluenceWeighting), algorithm.ability(Suppression)
    widening = algorithm.ability(Widening)
    weigh = options["weights"] == "influence"
    if not publication.roles.sensitive and (weigh or "sensitive" in algorithm.reads):
        raise errors.SensitiveColumnMissingError(
            publication.function, "weights = 'influence'" if weigh else algorithm.name, publication.source.shown
        )
    # What all algorithms can be asked for alike is what influence() gives by default.
    settings = {} if weigh else own if influence is not None and influence.is_wanted(own) else None
    run = Run(
        session=publication.run.session,
        options=own,
        sensitive="sensitive" in algorithm.reads or weigh,
        magnitudes="magnitudes" in algorithm.reads,
        forest=None if settings is None else forest_of(publication, settings, weigh),
        widens=widening is not None and widening.is_wanted(own),
        most_suppressed=None if suppression is None else suppression.max_records(own, publication.k),
        levels=algorithm.family == "lattice",
    )
    _check_objective(publication, algorithm)
    return replace(publication, run=run)


def _check_objective(publication: ReleaseSpec, algorithm: algorithms.Algorithm) -> None:
    """UnusedArgumentError where a search is told what to lower, and there is none; UnsupportedSettingError where
    that is squares, and a quasi-identifier has none."""
    options = publication.options
    if options["objective"] != "precision" and options["improve"] is None and algorithm.ability(OwnSearch) is None:
        name = publication.algorithm
        why = f"{name} searches for nothing unless improve gives it moves: improve = 20000, or algorithm best"
        raise errors.UnusedArgumentError(publication.function, "objective", why)
    if options["objective"] == "sse":
        for of in publication.attributes:
            if not of.is_number:
                function, table, column = publication.function, publication.source.shown, of.quasi.column
                why = "it is a category, without squares. Leave it out of qi, or lower 'precision' or 'ncp'."
                raise errors.UnsupportedSettingError(function, "objective = 'sse'", table, column, why)


def _bounds(call: Call, publication: ReleaseSpec, given: Mapping[str, tuple[str, str]]) -> dict[str, tuple[Sql, Sql]]:
    """Ends of the columns beyond which records are left out.

    UnknownColumnError, UnsupportedSettingError, InvalidArgumentError.
    """
    attributes = {a.quasi.column.lower(): a for a in publication.attributes}
    found = {}
    for name, ends in given.items():
        of = attributes.get(name.lower())
        if of is None:
            known = [a.quasi.column for a in publication.attributes]
            raise errors.UnknownColumnError(publication.function, publication.source.shown, name, "bounds", known)
        if not of.is_number:
            why = "it is a category, not a number or a date."
            raise errors.UnsupportedSettingError(
                publication.function, "bounds", publication.source.shown, of.quasi.column, why
            )
        type_ = attribute.value_type(of)
        if not call.holds(" <= ".join(f"TRY_CAST({text(end)} AS {type_})" for end in ends)):
            accepts = f"two values of {of.quasi.column} ({of.quasi.type}), the lower first"
            raise errors.InvalidArgumentError(
                publication.function, "bounds", accepts, parameters.format_value(list(ends))
            )
        low, high = (Sql(f"CAST({text(end)} AS {type_})") for end in ends)
        found[of.quasi.column] = (low, high)
    return found


def noise_of(function: TableFunction, options: Mapping[str, object]) -> algorithms.Noise | None:
    """What a call publishes instead of classes; UnusedArgumentError where a parameter does not fit that."""
    release = algorithms.find(str(function.algorithm)).ability(NoiseRelease)
    noise = None if release is None else release.noise(options)
    if noise is None:
        for name, reason in release.noise_only.items() if release is not None else ():
            if options[name] is not None:
                raise errors.UnusedArgumentError(function.name, name, reason)
        return None
    if function.kind == "inference":
        name = noise.asked.split(" = ")[0]
        raise errors.UnusedArgumentError(
            function.name, name, "it tells what published classes narrow, and noise has none"
        )
    if options["intervals"] != "text":
        raise errors.UnusedArgumentError(
            function.name, "intervals", f"with {noise.asked} numbers are published, not ranges"
        )
    if options.get("divergence"):
        raise errors.UnusedArgumentError(function.name, "divergence", f"with {noise.asked} no classes are published")
    return noise


def forest_of(publication: ReleaseSpec, options: Mapping[str, object], weigh: bool = False) -> ForestRequest:
    """Return settings of a forest that predicts the sensitive columns; InvalidArgumentError where it cannot."""
    for column in publication.roles.sensitive:
        type_ = publication.source.columns[column]
        if options.get("forest") == "regression" and column_types.family(type_)[0] is None:
            accepts = f"'auto' or 'classification' for {column}, which is {type_}"
            raise errors.InvalidArgumentError(publication.function, "forest", accepts, "'regression'")
    return ForestRequest.from_options(options, weigh)


def prepared(
    call: Call,
    options: Options,
    algorithm: str,
    kind: str,
    *,
    ontology: Mapping[str, str] | None = None,
    alone: bool = True,
) -> ReleaseSpec:
    """Source, roles, attributes and models of a call, with all common options; `ontology` has hierarchies of sensitive
    columns, whose own are used whatever the models (None: where models do). A table that is published `alone` has a
    quasi-identifier."""
    name = call.function.name
    source = call.source()
    policy = applicable_policy(name, source, call.cursor, call.path, call.session)
    looser = partial(attribute.looser, holds=call.holds)
    cuts = partial(attribute.cuts, holds=call.holds)
    roles = column_roles.resolve(
        name,
        source,
        policy.declared,
        options,
        looser,
        cuts,
        partial(missing_codes.is_value, call.holds),
        ontology=ontology,
        alone=alone,
    )
    collations.refuse_equating(
        name, source, [column for column in (roles.person, *roles.sensitive, *roles.made) if column], call.cursor
    )
    made = (m for m in roles.made if m != roles.person)
    read = [*(q.column for q in roles.quasi), *roles.sensitive, *roles.other, *made]
    missing = missing_codes.resolve(name, source, policy.declared, options, read, roles.person, call.holds)
    return ReleaseSpec(
        function=name,
        algorithm=algorithm,
        kind=kind,
        source=source,
        policy=policy,
        roles=roles,
        attributes=tuple(_attribute(call, source, q, policy) for q in roles.quasi),
        options=options,
        demands=model_request.model_requirements(name, source.shown, options, roles.sensitive),
        orders={column: order(call, source, column, of, policy) for column, of in roles.orders.items()},
        reading=SourceReading(missing),
        run=Run(session=call.session.token),
        alone=alone,
    )


def with_transformed(publication: ReleaseSpec, view: tuple[str, str] | None) -> ReleaseSpec:
    """Return a publication with its transformed columns.

    Pseudonyms are equal in all versions of a `view`, a schema and a name (None: in this call, with these parameters).
    See `transformed_columns.resolve` for what it raises.
    """
    function, source, roles = publication.function, publication.source, publication.roles
    if publication.run.noise is not None and roles.made:
        raise errors.TransformedColumnsNotSupportedError(function, source.shown, roles.made, "a release with noise")
    made = transformed_columns.resolve(function, source, publication.policy.declared, roles, _scope(publication, view))
    return replace(publication, made=made).continued(view=view)


def _scope(publication: ReleaseSpec, view: tuple[str, str] | None) -> str:
    if view is not None:
        return f"release {json.dumps([part.lower() for part in view])}"
    call = [publication.algorithm, publication.source.shown.lower(), dict(publication.options)]
    return f"call {json.dumps(call, default=str)}"


def order(call: Call, source: catalog.Source, column: str, name: str, policy: Policy | None = None) -> Hierarchy:
    """Return the hierarchy of a sensitive column."""
    is_declared = policy is not None and _is_declared(policy, name)
    found = lookup.find(call, name, source, is_declared)
    if found is None:
        raise errors.UnknownHierarchyError(
            call.function.name, name, f"of {source.shown}.{column}", lookup.known(call, source, is_declared)
        )
    return found


def _attribute(call: Call, source: catalog.Source, quasi: column_roles.Quasi, policy: Policy) -> attribute.Attribute:
    is_declared = _is_declared(policy, quasi.settings.hierarchy)
    return attribute.attribute(
        call.function.name,
        source.shown,
        quasi,
        find=lambda name: lookup.find(call, name, source, is_declared),
        known=lambda: lookup.known(call, source, is_declared),
        holds=call.holds,
    )


def _is_declared(policy: Policy, hierarchy: str | None) -> bool:
    """Return whether a hierarchy is one that the policy names."""
    return any(row.settings.hierarchy == hierarchy for row in policy.declared)


def keyed(publication: ReleaseSpec, key: Sequence[str] | None, kind: str = "release") -> ReleaseSpec:
    """Return the publication with the columns that tell its people apart."""
    return replace(publication, kind=kind).continued(
        key=() if key is None or publication.roles.person is not None else tuple(key)
    )


def unique_key(publication: ReleaseSpec, cursor: Any) -> tuple[str, ...] | None:
    """Return the columns that tell people apart.

    The person, else the source's primary key, else a unique key; or None.
    """
    if publication.roles.person is not None:
        return (publication.roles.person,)
    source = publication.source
    rows = cursor.execute(
        "SELECT constraint_column_names FROM system.main.duckdb_constraints() "
        "WHERE (database_name, schema_name, table_name) = (?, ?, ?) AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') "
        "ORDER BY constraint_type = 'UNIQUE' ASC, constraint_index ASC",
        [source.database, source.schema, source.table],
    ).fetchall()
    return tuple(rows[0][0]) if rows else None


def hierarchy_fingerprint(publication: ReleaseSpec, cursor: Any) -> str:
    """Return a text that changes when a hierarchy of the publication does."""
    used = {a.quasi.column: a.hierarchy for a in publication.attributes if a.hierarchy is not None} | dict(
        publication.orders
    )
    return fingerprint_of(used, cursor)


def fingerprint_of(used: Mapping[str, Hierarchy], cursor: Any) -> str:
    """Return a text that changes when a hierarchy of these columns does."""
    every = "md5(coalesce(string_agg(r::VARCHAR, chr(10) ORDER BY r::VARCHAR COLLATE POSIX ASC), ''))"
    queries = [f"SELECT {every} FROM ({hierarchy_sql.rows(hierarchy)}) AS r" for _, hierarchy in sorted(used.items())]
    pieces = [cursor.execute(query).fetchall()[0][0] for query in queries]
    return hashlib.md5("".join(pieces).encode(), usedforsecurity=False).hexdigest()
