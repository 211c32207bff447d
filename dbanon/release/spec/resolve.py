"""Resolve a call to its release spec: source, roles, quasi-identifiers, privacy models, settings of the algorithm."""

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
from dbanon.policy.hierarchies import hierarchy_sql, lookup, value_labels
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.privacy_models import model_request
from dbanon.release.spec import related_parameters as related, transformed_columns
from dbanon.release.spec.release_spec import Preprocessing, ReleaseSpec, RunSettings, SourceReading
from dbanon.source import catalog, collations, column_types
from dbanon.source.applicable_policy import applicable_policy
from dbanon.source.stored_policy import Policy
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions import parameters
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call, TableFunction


def resolve_spec(call: Call, view: tuple[str, str] | None = None) -> ReleaseSpec:
    """Resolve a call to its complete release spec, as a version of `view` (schema and name) if one is given.

    Raises:
        NotSupportedForRelatedTablesError, UnusedArgumentError: The call is about related tables, or uses their
            parameters without naming tables.
        SensitiveHierarchyMissingError: The algorithm needs a hierarchy of a sensitive column.
        DbanonError: See `resolve_base_spec`, `with_run_settings` and `with_transformed`.
    """
    related.refuse_related_tables(call.function.name, call.options)
    algorithm = algorithms.find(str(call.function.algorithm))
    has_ontology = algorithm.looks_up is not None and call.options[algorithm.looks_up] is not None
    spec = resolve_base_spec(
        call, call.options, algorithm.name, str(call.function.kind), ontology={} if has_ontology else None
    )
    roles = spec.roles
    if has_ontology and roles.sensitive and not spec.sensitive_hierarchies:
        table, column = spec.source.shown, roles.sensitive[0]
        raise errors.SensitiveHierarchyMissingError(call.function.name, table, column, str(algorithm.looks_up))
    noise = requested_noise(call.function, call.options)
    spec = with_run_settings(spec, algorithm)
    preprocessing, exclusion, algorithm_options = Preprocessing(), algorithm.ability(Exclusion), spec.run.options
    if exclusion is not None:
        preprocessing = Preprocessing(
            _record_bounds(call, spec, exclusion.bounds(algorithm_options)), exclusion.duplicates(algorithm_options)
        )
    return with_transformed(replace(spec, run=replace(spec.run, noise=noise, preprocessing=preprocessing)), view)


def max_suppressed_records(algorithm: algorithms.Algorithm, options: Mapping[str, Any]) -> int | None:
    """Return the greatest number of records that a call may suppress, in addition to its share `suppress`.

    Args:
        algorithm: The algorithm of the call.
        options: The validated parameters of the call.

    Returns:
        The number; None if only the share limits it. With 0, the release is that of a call without `suppress`.
    """
    suppression = algorithm.ability(Suppression)
    if suppression is None:
        return None
    algorithm_options = {p.name: options[p.name] for p in algorithm.own_parameters}
    return suppression.limit(algorithm_options, int(options["k"]), float(options["suppress"]))


def with_run_settings(spec: ReleaseSpec, algorithm: algorithms.Algorithm) -> ReleaseSpec:
    """Return a copy of a spec with the settings that a run of the algorithm gets, derived from the spec's options.

    Noise and preprocessing are not among them.

    Raises:
        SensitiveColumnMissingError: The algorithm or the weights need a sensitive column.
        InvalidArgumentError: A setting of the influence weights is invalid.
        UnusedArgumentError, UnsupportedSettingError: The parameter `objective` cannot be used.
    """
    options = spec.options
    algorithm_options = {p.name: options[p.name] for p in algorithm.own_parameters}
    influence, widening = algorithm.ability(InfluenceWeighting), algorithm.ability(Widening)
    is_weighted = options["weights"] == "influence"
    if not spec.roles.sensitive and (is_weighted or "sensitive" in algorithm.reads):
        raise errors.SensitiveColumnMissingError(
            spec.function, "weights = 'influence'" if is_weighted else algorithm.name, spec.source.shown
        )
    # Weights that every algorithm supports have the default settings of influence().
    forest_options = (
        {}
        if is_weighted
        else algorithm_options
        if influence is not None and influence.is_wanted(algorithm_options)
        else None
    )
    max_suppressed = max_suppressed_records(algorithm, options)
    if max_suppressed == 0:  # then the release is that of a call that suppresses nothing
        options = Options({**options, "suppress": 0.0})
    run = RunSettings(
        session=spec.run.session,
        options=algorithm_options,
        reads_sensitive="sensitive" in algorithm.reads or is_weighted,
        reads_magnitudes="magnitudes" in algorithm.reads,
        forest=None if forest_options is None else forest_request(spec, forest_options, is_weighted),
        widens_classes=widening is not None and widening.is_wanted(algorithm_options),
        max_suppressed=max_suppressed,
        builds_levels=algorithm.family == "full_domain",
    )
    _check_objective(spec, algorithm)
    return replace(spec, options=options, run=run)


def _check_objective(spec: ReleaseSpec, algorithm: algorithms.Algorithm) -> None:
    """Check that the parameter `objective` (what a search minimizes) can be used.

    Raises:
        UnusedArgumentError: The objective is not the default `precision`, and nothing searches: `improve` is not given,
            and the algorithm has no search of its own.
        UnsupportedSettingError: The objective is the sum of squared errors, and a quasi-identifier is a category.
    """
    options = spec.options
    if options["objective"] != "precision" and options["improve"] is None and algorithm.ability(OwnSearch) is None:
        why = f"{spec.algorithm} does not search without improve, such as improve = 20000 (best always does)"
        raise errors.UnusedArgumentError(spec.function, "objective", why)
    if options["objective"] == "sse":
        for quasi in spec.attributes:
            if not quasi.is_number:
                why = (
                    "it is a category, which has no squared distance. Omit it from qi, or use objective 'precision' "
                    "or 'ncp'."
                )
                raise errors.UnsupportedSettingError(
                    spec.function, "objective = 'sse'", spec.source.shown, quasi.quasi.column, why
                )


def _record_bounds(
    call: Call, spec: ReleaseSpec, bound_texts: Mapping[str, tuple[str, str]]
) -> dict[str, tuple[Sql, Sql]]:
    """Return by column the least and greatest value, as SQL, outside which records are dropped.

    Args:
        call: The call, which evaluates SQL conditions.
        spec: The release spec.
        bound_texts: The two bounds of each column, as texts.

    Raises:
        UnknownColumnError: The column is no quasi-identifier.
        UnsupportedSettingError: The column is a category.
        InvalidArgumentError: The bounds are no two ascending values of the type of the column.
    """
    attributes = {fold_case(a.quasi.column): a for a in spec.attributes}
    bounds = {}
    for name, ends in bound_texts.items():
        quasi = attributes.get(fold_case(name))
        if quasi is None:
            raise errors.UnknownColumnError(
                spec.function, spec.source.shown, name, "bounds", [a.quasi.column for a in spec.attributes]
            )
        if not quasi.is_number:
            why = "it is a category, not a number or a date."
            raise errors.UnsupportedSettingError(spec.function, "bounds", spec.source.shown, quasi.quasi.column, why)
        type_ = attribute.value_type(quasi)
        if not call.holds(" <= ".join(f"TRY_CAST({text(end)} AS {type_})" for end in ends)):
            accepts = f"two values of {quasi.quasi.column} ({quasi.quasi.type}), the lower first"
            raise errors.InvalidArgumentError(spec.function, "bounds", accepts, parameters.format_value(list(ends)))
        low, high = (Sql(f"CAST({text(end)} AS {type_})") for end in ends)
        bounds[quasi.quasi.column] = (low, high)
    return bounds


def requested_noise(function: TableFunction, options: Mapping[str, object]) -> algorithms.Noise | None:
    """Return the noise that a call publishes instead of classes; None if it publishes classes.

    Raises:
        UnusedArgumentError: A parameter has no effect with noise, or without it.
    """
    release = algorithms.find(str(function.algorithm)).ability(NoiseRelease)
    noise = None if release is None else release.noise(options)
    if noise is None:
        for name, reason in release.noise_only.items() if release is not None else ():
            if options[name] is not None:
                raise errors.UnusedArgumentError(function.name, name, reason)
        return None
    unused_arguments = {
        noise.asked.split(" = ")[0]: (
            function.kind == "inference",
            "it is about published classes, and noise has none",
        ),
        "intervals": (options["intervals"] != "text", f"with {noise.asked} numbers are published, not ranges"),
        "with_kl_divergence": (
            bool(options.get("with_kl_divergence")),
            f"with {noise.asked} no classes are published",
        ),
    }
    for name, (is_unused, reason) in unused_arguments.items():
        if is_unused:
            raise errors.UnusedArgumentError(function.name, name, reason)
    return noise


def forest_request(spec: ReleaseSpec, options: Mapping[str, object], is_weighted: bool = False) -> ForestRequest:
    """Return the settings of the random forest that predicts the sensitive columns from the quasi-identifiers.

    Args:
        spec: The release spec.
        options: The parameters of the forest; missing ones have their defaults.
        is_weighted: Attributes are weighted by their influence on the prediction.

    Raises:
        InvalidArgumentError: Regression is requested for a column that is neither a number nor a date.
    """
    for column in spec.roles.sensitive:
        type_ = spec.source.columns[column]
        if options.get("forest") == "regression" and column_types.family(type_)[0] is None:
            accepts = f"'auto' or 'classification' for {column}, which is {type_}"
            raise errors.InvalidArgumentError(spec.function, "forest", accepts, "'regression'")
    return ForestRequest.from_options(options, is_weighted)


def resolve_base_spec(
    call: Call,
    options: Options,
    algorithm: str,
    kind: str,
    *,
    ontology: Mapping[str, str] | None = None,
    is_single_table: bool = True,
) -> ReleaseSpec:
    """Resolve a call to a release spec without the settings of its algorithm and its transformed columns.

    The spec has the source, the roles, the quasi-identifiers, the privacy models and the common options. The columns of
    persons, sensitive and transformed columns are checked for collations that equate different texts.

    Args:
        call: The call.
        options: The options, which may differ from those of the call.
        algorithm: The name of the algorithm.
        kind: The requested result: release, classes, metrics, inference, influence or membership.
        ontology: Hierarchies of sensitive columns by column, used whatever the privacy models are; None: the policy's,
            used only by privacy models that need them.
        is_single_table: The release has one table, which must have a quasi-identifier.

    Raises:
        DbanonError: The source, the policy, a role, a setting, a hierarchy or a parameter is invalid.
    """
    name = call.function.name
    source = call.source()
    policy = applicable_policy(name, source, call.cursor, call.path, call.session)
    roles = column_roles.resolve_roles(
        name,
        source,
        policy.declared,
        options,
        partial(attribute.is_less_strict, holds=call.holds),
        partial(attribute.bound_off_grid, holds=call.holds),
        partial(missing_codes.is_possible_code, call.holds),
        value_hierarchies=ontology,
        needs_quasi=is_single_table,
    )
    collations.refuse_equating(
        name, source, [column for column in (roles.person, *roles.sensitive, *roles.transformed) if column], call.cursor
    )
    read_columns = [
        *(q.column for q in roles.quasi),
        *roles.sensitive,
        *roles.insensitive,
        *(name for name in roles.transformed if name != roles.person),
    ]
    missing = missing_codes.resolve_codes(
        name, source, policy.declared, options, read_columns, roles.person, call.holds
    )
    return ReleaseSpec(
        function=name,
        algorithm=algorithm,
        kind=kind,
        source=source,
        policy=policy,
        roles=roles,
        attributes=tuple(_attribute(call, source, q, policy) for q in roles.quasi),
        options=options,
        model_requirements=model_request.model_requirements(name, source.shown, options, roles.sensitive),
        sensitive_hierarchies={
            column: sensitive_hierarchy(call, source, column, hierarchy_name, policy)
            for column, hierarchy_name in roles.sensitive_hierarchies.items()
        },
        reading=SourceReading(missing),
        run=RunSettings(session=call.session.token),
        is_single_table=is_single_table,
    )


def with_transformed(spec: ReleaseSpec, view: tuple[str, str] | None) -> ReleaseSpec:
    """Return a copy of a spec with its transformed columns (pseudonyms, masks, shifted dates) and its view.

    Pseudonyms are equal in all versions of `view` (schema and name), or if it is None in all calls with these
    parameters.

    Raises:
        TransformedColumnsNotSupportedError: The release has noise.
        DbanonError: See `resolve_transformed_columns`.
    """
    function, source, roles = spec.function, spec.source, spec.roles
    if spec.run.noise is not None and roles.transformed:
        raise errors.TransformedColumnsNotSupportedError(
            function, source.shown, roles.transformed, "a release with noise"
        )
    transformed = transformed_columns.resolve_transformed_columns(
        function, source, spec.policy.declared, roles, _pseudonym_scope(spec, view)
    )
    return replace(spec, transformed=transformed).with_version_constraints(view=view)


def _pseudonym_scope(spec: ReleaseSpec, view: tuple[str, str] | None) -> str:
    """Return a text for the scope within which equal values have equal pseudonyms.

    It names the view or, without one, the algorithm, table and options of the call.
    """
    if view is not None:
        return f"release {json.dumps([part.lower() for part in view])}"
    call = [spec.algorithm, spec.source.shown.lower(), dict(spec.options)]
    return f"call {json.dumps(call, default=str)}"


def sensitive_hierarchy(
    call: Call, source: catalog.Source, column: str, hierarchy_name: str, policy: Policy | None = None
) -> Hierarchy:
    """Return the hierarchy named `hierarchy_name` of a sensitive column.

    `policy` is the policy of the source. A hierarchy that it names is looked up only in the database of the policy;
    others, and all if `policy` is None, also in that of the session.

    Raises:
        UnknownHierarchyError: There is no hierarchy of this name.
    """
    is_declared = policy is not None and _is_declared(policy, hierarchy_name)
    hierarchy = lookup.find_hierarchy(call, hierarchy_name, source, is_declared)
    if hierarchy is None:
        raise errors.UnknownHierarchyError(
            call.function.name,
            hierarchy_name,
            f"of {source.shown}.{column}",
            lookup.hierarchy_names(call, source, is_declared),
        )
    return hierarchy


def _attribute(
    call: Call, source: catalog.Source, quasi: column_roles.QuasiIdentifier, policy: Policy
) -> attribute.Attribute:
    """Return the attribute of a quasi-identifier, with its type, checked settings and hierarchy.

    A hierarchy that `policy`, the policy of the source, names is looked up only in the database of the policy.

    Raises:
        DbanonError: As `attribute.resolve_attribute`.
    """
    is_declared = _is_declared(policy, quasi.settings.hierarchy)
    return attribute.resolve_attribute(
        call.function.name,
        source.shown,
        quasi,
        find_hierarchy=lambda name: lookup.find_hierarchy(call, name, source, is_declared),
        known_hierarchies=lambda: lookup.hierarchy_names(call, source, is_declared),
        holds=call.holds,
        read_leaf_shapes=partial(value_labels.leaf_shapes, call.cursor),
    )


def _is_declared(policy: Policy, hierarchy: str | None) -> bool:
    """Return whether a row of the policy, for any column, names this hierarchy; None: whether a row names none."""
    return any(row.settings.hierarchy == hierarchy for row in policy.declared)


def with_person_key(spec: ReleaseSpec, key: Sequence[str] | None, kind: str = "release") -> ReleaseSpec:
    """Return a copy of a spec with the kind `kind`, in which the columns `key` identify persons.

    No key is set if `key` is None or a column has the role of the person; a previous key is then removed.
    """
    return replace(spec, kind=kind).with_version_constraints(
        person_key=() if key is None or spec.roles.person is not None else tuple(key)
    )


def unique_key(spec: ReleaseSpec, cursor: Any) -> tuple[str, ...] | None:
    """Return the columns that identify persons or rows: the person column, else a key of the source table, or None.

    The key is the primary key; without one, the first unique key.
    """
    if spec.roles.person is not None:
        return (spec.roles.person,)
    source = spec.source
    rows = cursor.execute(
        "SELECT constraint_column_names FROM system.main.duckdb_constraints() "
        "WHERE database_name = ? AND schema_name = ? AND table_name = ? "
        "AND constraint_type IN ('PRIMARY KEY', 'UNIQUE') "
        "ORDER BY constraint_type = 'UNIQUE' ASC, constraint_index ASC",
        [source.database, source.schema, source.table],
    ).fetchall()
    return tuple(rows[0][0]) if rows else None


def hierarchy_fingerprint(spec: ReleaseSpec, cursor: Any) -> str:
    """Return a hash (MD5 in hexadecimal digits) of the rows of all hierarchies that a spec uses."""
    hierarchies = {a.quasi.column: a.hierarchy for a in spec.attributes if a.hierarchy is not None} | dict(
        spec.sensitive_hierarchies
    )
    return fingerprint_hierarchies(hierarchies, cursor)


def fingerprint_hierarchies(hierarchies: Mapping[str, Hierarchy], cursor: Any) -> str:
    """Read the rows of hierarchies (given by column) and return their hash (MD5 in hexadecimal digits)."""
    rows_hash = "md5(coalesce(string_agg(r::VARCHAR, chr(10) ORDER BY r::VARCHAR COLLATE POSIX ASC), ''))"
    queries = [
        f"SELECT {rows_hash} FROM ({hierarchy_sql.rows(hierarchy)}) AS r"
        for _, hierarchy in sorted(hierarchies.items())
    ]
    hashes = "".join(cursor.execute(query).fetchall()[0][0] for query in queries)
    return hashlib.md5(hashes.encode(), usedforsecurity=False).hexdigest()
