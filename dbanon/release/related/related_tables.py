"""Resolve the related tables of a call with `entity` or `children`, and refuse what related tables do not support."""

from dataclasses import dataclass, replace

from dbanon import algorithms, errors
from dbanon.algorithms.base.registry import Exclusion, NoiseRelease, Suppression, Widening
from dbanon.privacy_models import registry
from dbanon.release.related import person_keys
from dbanon.release.spec import resolve
from dbanon.release.spec.related_parameters import DEFAULT_MAX_CHILDREN, POLICY_REASON, RELATED_PARAMETERS
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.column_types import are_comparable_keys, person_value
from dbanon.source.stored_relation import StoredKeys, stored_keys
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call

_SHARED_PARAMETERS = {
    "k",
    "improve",
    "objective",
    "leaves",
    "max_partition",
    "escape_labels",
    "loss_height",
    *(p.name for p in RELATED_PARAMETERS),
}
"""Common parameters that apply to all tables of a release."""

_PERSON_PARAMETERS = ("l", "diversity")
"""Parameters of the only privacy model that counts persons over several tables."""

_MODELS_REASON = (
    "it is for one sensitive value per person, and there are several rows",
    "use l (of the form distinct), which counts people: at most 1/l of a class have the same value",
)

_ALGORITHM_HINT = "use kacpc, mondrian or best"
"""What to do if an algorithm is supported for single tables only."""


@dataclass(frozen=True)
class RelatedTable:
    """One of the related tables of a release.

    Attributes:
        spec: Its release spec.
        key: The columns that identify the person of a row.
        key_values: SQL of the values of the key's columns.
    """

    spec: ReleaseSpec
    key: tuple[str, ...]
    key_values: tuple[Sql, ...]

    @property
    def display_name(self) -> str:
        """The name of the table as messages show it."""
        return self.spec.source.shown


@dataclass(frozen=True)
class RelatedTables:
    """The related tables of a release, the parent table (one row per person) first.

    Attributes:
        tables: The tables.
        called_index: The index of the table that the call names first, whose rows are requested.
        max_children: The greatest number of published rows of a child table per person.
        algorithm: The algorithm.
        stored_keys: The keys that dbanon.relation stores for each child table.
        min_diversity: The requested l of l-diversity, or None.
    """

    tables: tuple[RelatedTable, ...]
    called_index: int
    max_children: int
    algorithm: algorithms.Algorithm
    stored_keys: tuple[StoredKeys, ...]
    min_diversity: int | None

    @property
    def entity(self) -> RelatedTable:
        """The parent table, which has one row per person."""
        return self.tables[0]


def resolve_related_tables(call: Call) -> RelatedTables:
    """Resolve a call with `entity` or `children` to its related tables, the parent table first.

    Raises:
        NotSupportedForRelatedTablesError: A parameter or the algorithm supports one table only.
        MissingArgumentError, AmbiguousRelationError, RelationKeyMismatchError: The key of a table is unknown,
            ambiguous, or another one than dbanon.relation stores.
        InvalidArgumentError, UnknownColumnError: A table or key is invalid.
        KeyTypeMismatchError: The key of a child table has another type than that of the parent table.
        InvalidKeyColumnError, OtherColumnInChildTableError: The policy does not fit the key or the child tables.
        SensitiveColumnMissingError: l is given, and no table has a sensitive column.
        DbanonError: See `resolve_base_spec`.
    """
    algorithm = algorithms.find(str(call.function.algorithm))
    min_diversity = _requested_l(call)
    _refuse_unsupported(call, algorithm)
    called_table, entity, children = call.text("tbl"), call.options.text("entity"), call.options.sequence("children")
    names = [entity or called_table, *(children or (called_table,))]
    specs = [_table_spec(call, name, algorithm) for name in names]
    table_sqls = [str(spec.source.sql) for spec in specs]
    called_sql = call.source().sql
    if len(set(table_sqls)) < len(table_sqls) or called_sql not in table_sqls:
        accepts = f"different tables with rows about the people of {specs[0].source.shown}"
        accepts += "" if called_sql in table_sqls else f", {called_table} among them"
        raise errors.InvalidArgumentError(call.function.name, "children" if children else "entity", accepts, names[1:])
    sources = [spec.source for spec in specs]
    stored = [stored_keys(call.cursor, child, sources[0]) for child in sources[1:]]
    keys = person_keys.table_keys(call, sources, stored)
    tables = [_related_table(call, spec, keys[i], i) for i, spec in enumerate(specs)]
    for child in tables[1:]:
        _refuse_unequal_key_types(call, tables[0], child)
    if min_diversity is not None and not any(table.spec.roles.sensitive for table in tables):
        raise errors.SensitiveColumnMissingError(
            call.function.name, "l", f"the release of {' and '.join(table.display_name for table in tables)}"
        )
    return RelatedTables(
        tuple(tables),
        table_sqls.index(called_sql),
        int(call.options["max_children"] or DEFAULT_MAX_CHILDREN),
        algorithm,
        tuple(stored),
        min_diversity,
    )


def _requested_l(call: Call) -> int | None:
    """Return the l that a call requests; None if it requests none, or if the function has a default l.

    Raises:
        NotSupportedForRelatedTablesError: Another form than distinct l-diversity is requested.
        UnusedArgumentError: A form is given without l.
    """
    default_l = next(p.default for p in call.function.parameters if p.name == "l")
    form = call.options.text("diversity")
    if form is not None and form != "distinct":
        raise errors.NotSupportedForRelatedTablesError(call.function.name, f"diversity = {text(form)}", *_MODELS_REASON)
    if form is not None and call.options["l"] is None:
        raise errors.UnusedArgumentError(call.function.name, "diversity", "l is not given")
    return None if default_l is not None else call.options.integer("l")


def _refuse_unsupported(call: Call, algorithm: algorithms.Algorithm) -> None:
    """Raise an error if the call has a parameter, or the algorithm an ability, that is supported for one table only.

    Parameters with their default value are accepted, and so are l and `diversity` if the function has no default for
    them. Unsuitable algorithms leave records out, publish noise or ranges wider than the records of a class, or look up
    the meaning of values.

    Raises:
        NotSupportedForRelatedTablesError: There is such a parameter, or the algorithm is unsuitable.
    """
    reason = _unsuitable_reason(call, algorithm)
    if reason is not None:
        raise errors.NotSupportedForRelatedTablesError(
            call.function.name, f"the algorithm {algorithm.name}", reason, _ALGORITHM_HINT
        )
    algorithm_parameters = {p.name for p in algorithm.own_parameters} | {"algorithm"}
    model_parameters = {p.name for p in registry.parameters()} | {"multi_sensitive"}
    for parameter in call.function.parameters:
        name = parameter.name
        if name in _PERSON_PARAMETERS and parameter.default is None:
            continue
        if (
            name not in algorithm_parameters
            and name not in _SHARED_PARAMETERS
            and call.options[name] != parameter.default
        ):
            raise errors.NotSupportedForRelatedTablesError(
                call.function.name, name, *(_MODELS_REASON if name in model_parameters else POLICY_REASON)
            )
    for model in registry.models():
        name = model.parameters[0].name
        if any(p.name == name and p.default is not None for p in call.function.parameters):
            subject = f"the algorithm {algorithm.name}, which asks for {name} by default,"
            raise errors.NotSupportedForRelatedTablesError(
                call.function.name, subject, _MODELS_REASON[0], f"{_ALGORITHM_HINT}, with l"
            )


def _unsuitable_reason(call: Call, algorithm: algorithms.Algorithm) -> str | None:
    """Return why an algorithm is for one table only, as a clause; None if it is not, or if a default model is why."""
    if algorithm.ability(Suppression) is not None:
        return "it may suppress records"
    widening = algorithm.ability(Widening)
    if widening is not None and widening.is_wanted({p.name: call.options[p.name] for p in algorithm.own_parameters}):
        return "it publishes some classes with wider ranges than those of their records"
    if algorithm.ability(Exclusion) is not None:
        return "it may suppress records"
    if algorithm.ability(NoiseRelease) is not None:
        return "it can add noise"
    return None if algorithm.looks_up is None else "it looks up the hierarchy of a sensitive column"


def _table_spec(call: Call, table: str, algorithm: algorithms.Algorithm) -> ReleaseSpec:
    """Return the release spec of one of the related tables, by its policy and without the call's l and `diversity`.

    `table` is the name of the table in the call.

    Raises:
        DbanonError: See `resolve_base_spec`.
    """
    table_call = replace(call, positional={**call.positional, "tbl": table})
    defaults = {p.name: p.default for p in call.function.parameters if p.name in _PERSON_PARAMETERS}
    options = Options({**call.options, **defaults})
    return resolve.resolve_base_spec(
        table_call, options, algorithm.name, str(call.function.kind), is_single_table=False
    )


def _related_table(call: Call, spec: ReleaseSpec, key: tuple[str, ...], i: int) -> RelatedTable:
    """Check the key and the roles of table number `i`, and return the table with its key.

    The returned spec has no person column: the key identifies persons.

    Raises:
        InvalidKeyColumnError: The key is published, or differs from the person column of the policy.
        UnsupportedPersonError: The type of a key column cannot identify persons.
        TransformedColumnsNotSupportedError: The table has transformed columns.
        OtherColumnInChildTableError: A child table has a column that is published unchanged and is not sensitive.
    """
    source, roles, function = spec.source, spec.roles, call.function.name
    published_names = [q.column for q in roles.quasi] + [*roles.sensitive, *roles.insensitive, *roles.transformed]
    key_values = []
    for name in key:
        if name in published_names:
            why = "the policy publishes it, but a key may be published only as a pseudonym"
            raise errors.InvalidKeyColumnError(function, source.shown, name, why, "declare it person or identifier")
        value = person_value(spec.column_sql(name), source.columns[name])
        if value is None:
            raise errors.UnsupportedPersonError(function, source.shown, name, source.columns[name])
        key_values.append(value)
    if roles.person is not None and key != (roles.person,):
        why = f"the policy says that {roles.person} identifies persons"
        raise errors.InvalidKeyColumnError(function, source.shown, key[0], why, f"key = {text(roles.person)}")
    if roles.transformed:
        hint = "declare them identifier in the policy, or release the table alone"
        raise errors.TransformedColumnsNotSupportedError(
            function, source.shown, roles.transformed, "a release of several tables", hint
        )
    if i > 0 and roles.insensitive:
        raise errors.OtherColumnInChildTableError(function, source.shown, roles.insensitive[0])
    return RelatedTable(replace(spec, roles=replace(roles, person=None)), key, tuple(key_values))


def _refuse_unequal_key_types(call: Call, entity: RelatedTable, child: RelatedTable) -> None:
    """Raise an error if the key columns of the parent table (`entity`) and a child table cannot have equal values.

    Raises:
        KeyTypeMismatchError: The types are not comparable.
    """
    for child_name, entity_name in zip(child.key, entity.key, strict=True):
        types = (child.spec.source.columns[child_name], entity.spec.source.columns[entity_name])
        if not are_comparable_keys(*types):
            raise errors.KeyTypeMismatchError(
                call.function.name,
                f"{child.display_name}.{child_name}",
                types[0],
                entity.display_name,
                entity_name,
                types[1],
            )
