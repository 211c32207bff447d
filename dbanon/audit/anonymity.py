"""What any table achieves, released by whomever: the privacy models as measures of its classes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dbanon import errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.audit import release_lookup
from dbanon.audit.parameters import QI
from dbanon.errors.example import SAFE, Example
from dbanon.policy.column_names.hints import suggested_quasi_identifier
from dbanon.policy.column_roles import ROLES
from dbanon.policy.hierarchies.hierarchy_sql import rows
from dbanon.policy.hierarchies.messages import tree_messages
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.privacy_models import model_request, registry
from dbanon.privacy_models.model import ModelForm, PrivacyModel
from dbanon.release.spec import resolve
from dbanon.source import missing_codes, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, person_value
from dbanon.source.stored_policy import DeclaredColumn, Policy, Settings
from dbanon.sqltext.quote import Sql, identifier, literal, text
from dbanon.sqltext.templates import error_sql, fill
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import Columns, PerColumn, Text
from dbanon.table_functions.parameters import Parameter
from dbanon.table_functions.table_function import Call, TableFunction

_COMMON = {p.name: p for p in COMMON}
_PERSON = Parameter(
    "person",
    Text("a column name"),
    "Distinct persons are counted instead of records; default: the declared person column.",
)
_K = (QI, _PERSON)
_SENSITIVE = (
    QI,
    Parameter("sensitive", Columns(), "The columns that are judged; default: the declared sensitive ones."),
    _PERSON,
    _COMMON["multi"],
)
_HIERARCHIES = Parameter(
    "hierarchies",
    PerColumn(Text("a hierarchy's name"), "{'disease': 'icd10'}"),
    "Hierarchy of a sensitive column: a name, or ARX rows as text; default: the declared one.",
)
_K_ANONYMITY = "k_anonymity"
_ALL = "anonymity"

# --- the models ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Judged:
    """One sensitive column of a call, with the hierarchy that applies to it and how it was named."""

    column: str
    type: str
    hierarchy: Hierarchy | None = None
    shown: str = ""
    asked: str | None = None

    @property
    def is_number(self) -> bool:
        return family(self.type)[0] is not None


@dataclass(frozen=True)
class _Measure:
    """One row of `anonymity`, or what one function measures: a form of a model of a sensitive column."""

    name: str
    model: PrivacyModel
    form: ModelForm
    sensitive: int


def _model_of(function: str) -> PrivacyModel:
    """Return the model that a function measures."""
    return next(m for m in registry.models() if m.function == function)


def _fits(form: ModelForm, judged: _Judged) -> bool:
    """Return whether a form can be measured of a sensitive column."""
    return judged.hierarchy is not None or not form.value_order or (form.value_order == "order" and judged.is_number)


# --- the columns of a call -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Columns:
    """Columns as the table spells them."""

    qi: tuple[str, ...]
    sensitive: tuple[str, ...]
    person: str | None


def _columns(
    function: str, source: Source, declared: Iterable[DeclaredColumn], options: Options, judges: bool
) -> _Columns:
    """What a call names, and where it names nothing, what the policy declares and the call does not use otherwise.

    Measuring publishes nothing, so a call may name any column. Raises UnknownColumnError, UnknownRoleError,
    ConflictingRolesError, PolicyMissingError, SensitiveColumnMissingError.
    """
    column = partial(source.column, function)
    asked: dict[str, str] = {}
    for parameter in ("qi", "sensitive", "person"):
        value = options.get(parameter)
        for given in (value,) if isinstance(value, str) else value or ():
            name = column(given, parameter)
            if name in asked:
                raise errors.ConflictingRolesError(function, source.shown, name, (asked[name], parameter))
            asked[name] = parameter
    roles: dict[str, str] = {}
    for row in declared:
        name, role = column(row.column, "dbanon.policy"), row.role.lower()
        if role not in ROLES:
            raise errors.UnknownRoleError(source.shown, name, row.role, ROLES)
        if name in roles:
            raise errors.ConflictingRolesError(function, source.shown, name, (roles[name], role))
        roles[name] = role

    def found(parameter: str, role: str) -> tuple[str, ...]:
        if options.get(parameter) is not None:
            return tuple(name for name, where in asked.items() if where == parameter)
        return tuple(name for name in source.columns if roles.get(name) == role and name not in asked)

    qi, sensitive = found("qi", "quasi"), found("sensitive", "sensitive") if judges else ()
    forms = {column(row.column, "dbanon.policy"): dict(row.settings.form) for row in declared}
    persons = stored_policy.person_columns((n, roles[n], forms.get(n, {})) for n in source.columns if n in roles)
    if options.get("person") is not None:
        persons = list(found("person", "person"))
    if len(persons) > 1 and roles[persons[0]] == "pseudonym":
        said = forms.get(persons[0], {}).get("person", "").lower() == "true"
        raise errors.AmbiguousDataSubjectError(function, source.shown, persons, several=said)
    if len(persons) > 1:
        raise errors.ConflictingRolesError(function, source.shown, persons[1], ("person", f"person of {persons[0]}"))
    if persons and asked.get(persons[0], "person") != "person":
        raise errors.ConflictingRolesError(function, source.shown, persons[0], (asked[persons[0]], "person"))
    if not qi:
        raise errors.PolicyMissingError(function, source.shown, suggested_quasi_identifier(source.columns))
    if judges and not sensitive and function != _ALL:
        raise errors.SensitiveColumnMissingError(function, function, source.shown)
    return _Columns(qi, sensitive, persons[0] if persons else None)


def _judged(
    function: str,
    source: Source,
    sensitive: Sequence[str],
    declared: Iterable[DeclaredColumn],
    options: Options,
    find: Callable[[str, str], Hierarchy],
) -> list[_Judged]:
    """Return the sensitive columns, each with its hierarchy where a distance of their values is measured.

    Raises UnknownColumnError, UnsupportedSettingError, UnusedArgumentError, UnknownHierarchyError,
    SensitiveHierarchyMissingError.
    """
    model = None if function in (_K_ANONYMITY, _ALL) else _model_of(function)
    form = model.form(options.get(model.form_parameter)) if model else None
    given: dict[str, str] = {}
    for key, value in options.per_column("hierarchies").items():
        name = source.column(function, key, "hierarchies")
        if name not in sensitive:
            why = "it is not a sensitive column of this call."
            raise errors.UnsupportedSettingError(function, "hierarchies", source.shown, name, why)
        given[name] = value
    if given and model and form and not form.value_order:
        raise errors.UnusedArgumentError(function, "hierarchies", f"{model.form_parameter} is '{form.name}'")
    stored = {source.spelled(d.column): d.settings.hierarchy for d in declared if d.role.lower() == "sensitive"}
    found = []
    for name in sensitive:
        judged = _Judged(name, source.columns[name])
        hierarchy = given.get(name) or stored.get(name)
        if hierarchy and (form is None or form.value_order):
            shown = hierarchy if ";" not in hierarchy else "given as text"
            judged = replace(judged, hierarchy=find(name, hierarchy), shown=shown, asked=given.get(name))
        elif form is not None and form.value_order == "hierarchy":
            raise errors.SensitiveHierarchyMissingError(function, source.shown, name)
        found.append(judged)
    return found


# --- the statement ---------------------------------------------------------------------------------------


def statement(
    function: str,
    source: Source,
    policy: Policy,
    options: Options,
    find: Callable[[str, str], Hierarchy],
) -> Sql:
    """Return the SQL of one call.

    `policy` is what `stored_policy.policy_of` gives, `find` the hierarchy of a column by name.

    Raises UnknownColumnError, UnknownRoleError, ConflictingRolesError, PolicyMissingError, SensitiveColumnMissingError,
    UnsupportedPersonError, UnsupportedSettingError, UnusedArgumentError, UnknownHierarchyError,
    SensitiveHierarchyMissingError.
    """
    declared, fingerprint_sql, fingerprint = policy
    if function not in (_K_ANONYMITY, _ALL):
        model_request.refuse_other_forms(function, _model_of(function), options)
    columns = _columns(function, source, declared, options, function != _K_ANONYMITY)
    judged = _judged(function, source, columns.sensitive, declared, options, find)
    table = source.shown
    sensitive = [_sensitive(source, i, s) for i, s in enumerate(judged)]
    return Sql(
        fill(
            "audit/anonymity/all_models.sql" if function == _ALL else "audit/anonymity/worst_classes.sql",
            source=source.rows,
            quasi=[{"name": identifier(n), "value": value(n, source.columns[n])} for n in columns.qi],
            sensitive=sensitive,
            person=_person(function, source, columns.person),
            joint=options.get("multi") == "joint" and len(sensitive) > 1,
            models=_models(function, columns, judged, options),
            fingerprint_sql=fingerprint_sql,
            fingerprint=text(fingerprint),
            bare=text(source.table.lower()) if source.bare else None,
            say={
                "policy_changed": error_sql(errors.PolicyChangedError(function, table)),
                "shadowed": error_sql(errors.ShadowedTableError(function, table, str(source.sql))),
                "empty": error_sql(errors.EmptySourceError(function, table)),
            },
        )
    )


def value(name: str, type_: str) -> Sql:
    """Return a column whose equal values are told apart by nothing that a reader sees.

    Texts compare byte by byte, whatever collation the column has; of 0.0 and -0.0 only one is shown.
    """
    if type_ in ("FLOAT", "DOUBLE"):
        return Sql(f"({identifier(name)} + 0::{type_})")
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)


def _person(function: str, source: Source, name: str | None) -> Sql | None:
    if name is None:
        return None
    value = person_value(identifier(name), source.columns[name])
    if value is None:
        raise errors.UnsupportedPersonError(function, source.shown, name, source.columns[name])
    return value


def _sensitive(source: Source, i: int, judged: _Judged) -> dict[str, object]:
    """Template values of one sensitive column."""
    return {
        "i": i,
        "plain": judged.column,
        "value": value(judged.column, judged.type),
        "rows": rows(judged.hierarchy) if judged.hierarchy else None,
        "say": tree_messages(source.shown, judged.column, judged.shown, judged.asked),
    }


def _models(function: str, columns: _Columns, judged: Sequence[_Judged], options: Options) -> list[dict[str, object]]:
    """Template values of the models of a call, in the order in which they are shown."""
    shown: list[dict[str, object]] = []
    if function in (_K_ANONYMITY, _ALL):
        unit = "records" if columns.person is None else "persons"
        what = f"Least number of {unit} in a class."
        shown.append(
            {
                "label": text("k_anonymity"),
                "file": None,
                "sensitive_label": Sql("NULL"),
                "better": text("higher"),
                "higher": True,
                "order": "",
                "what": text(what),
            }
        )
    within = options.get("multi") == "joint" and len(judged) > 1
    shown += [_shown(m, judged[m.sensitive], options, within) for m in _measures(function, judged, options)]
    return [one | {"number": number} for number, one in enumerate(shown)]


def _measures(function: str, judged: Sequence[_Judged], options: Options) -> list[_Measure]:
    """What a call measures of its sensitive columns."""
    if function == _K_ANONYMITY:
        return []
    if function == _ALL:
        every = [(model, form) for model in registry.models() for form in model.forms]
        return [_Measure(f.table_measure.name, m, f, i) for i, s in enumerate(judged) for m, f in every if _fits(f, s)]
    model = _model_of(function)
    form = model.form(options.get(model.form_parameter))
    return [_Measure(function, model, form, i) for i in range(len(judged))]


def _shown(m: _Measure, judged: _Judged, options: Options, within: bool) -> dict[str, object]:
    """Template values of one measure; `within`: equal values of the other sensitive columns."""
    form, listed = m.form, m.form.table_measure
    settings = {name: options.number(name) or default for name, default in form.settings.items()}
    what = listed.description.format(**settings) + (
        " Within equal values of the other sensitive columns." if within else ""
    )
    better = listed.better or form.bound.better
    return {
        "label": text(m.name),
        "file": m.model.sql_file,
        "measure": listed.measure or form.name,
        "settings": {name: literal(value) for name, value in settings.items()},
        "order": form.value_order,
        "sensitive": m.sensitive,
        "sensitive_label": text(judged.column),
        "better": text(better),
        "higher": better == "higher",
        "most": Sql(f"'{form.bound.max_measure}'::DOUBLE"),
        "what": text(what),
    }


def measured(call: Call) -> Sql:
    """Return the SQL of a call; errors are those of `statement`, and UnknownTableError."""
    source = call.source()
    policy = stored_policy.policy_of(source, call.cursor)
    source = missing_codes.without_codes(source, policy.declared, call.holds)
    said = all(call.options.get(name, ()) is not None for name in ("qi", "sensitive", "person"))
    entry = None if said else release_lookup.found(call, source)  # the ledger costs a reading of the table
    if entry is not None and release_lookup.unchanged(call, entry, call.options["qi"] is None) is not None:
        declared = release_lookup.declared_of_release(call, entry, source)
        known = release_lookup.with_persons(call, entry, source) if call.options["person"] is None else None
        if known is not None:
            source, declared = known, (*declared, DeclaredColumn(release_lookup.PERSON, "person", Settings()))
        policy = policy._replace(declared=declared)
    return statement(
        call.function.name,
        source,
        policy,
        call.options,
        partial(resolve.sensitive_hierarchy, call, source, policy=policy),
    )


# --- the table functions ---------------------------------------------------------------------------------

_EXAMPLE_QI = "qi = ['sex', 'zip']"
_EXAMPLE_JUDGED = f"{_EXAMPLE_QI}, sensitive = ['disease']"
_GIVES = "The achieved value and the ten worst classes"


def _function(name: str, parameters: tuple[Parameter, ...], doc: str, example: str = _EXAMPLE_JUDGED) -> TableFunction:
    shown = Example(f"SELECT * FROM {name}('safe', {example});", SAFE)
    return TableFunction(name, ("tbl",), parameters, doc, handler=measured, example=shown)


def _of_model(model: PrivacyModel) -> TableFunction:
    """Return the function that measures one model."""
    ordered = (_HIERARCHIES,) if any(form.value_order for form in model.forms) else ()
    example = ", ".join([_EXAMPLE_JUDGED, *([model.example] if model.example else [])])
    parameters = (*_SENSITIVE, *model.parameters[1:], *ordered)
    return _function(model.function, parameters, f"{_GIVES}: {model.description}.", example)


_OF_FORMS = tuple(
    p for m in registry.models() for p in m.parameters[1:] if any(p.name in form.settings for form in m.forms)
)
"""What forms of models are measured with."""

FUNCTIONS = (
    _function(_K_ANONYMITY, _K, f"{_GIVES}: records (persons) in a class.", _EXAMPLE_QI),
    *(_of_model(model) for model in registry.models()),
    _function(
        _ALL,
        (*_SENSITIVE, *_OF_FORMS, _HIERARCHIES),
        "What a table achieves by every model: value, how many classes have it, how many records are in these.",
    ),
)
"""Not more than eight parameters each: all of them take `name = value` (see dbanon.table_functions.arguments)."""
