"""Measure which privacy models any table satisfies: one table function per model, and `anonymity` for all."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from dbanon import errors
from dbanon.algorithms.base.common_parameters import COMMON
from dbanon.audit import release_lookup
from dbanon.audit.parameters import QI, SUPPRESSED, without_suppressed
from dbanon.errors.example import SAFE, Example
from dbanon.policy.column_names.hints import suggested_quasi_identifier
from dbanon.policy.column_roles import policy_by_column
from dbanon.policy.hierarchies.hierarchy_sql import rows
from dbanon.policy.hierarchies.messages import hierarchy_messages
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.privacy_models import model_request, registry
from dbanon.privacy_models.model import ModelForm, PrivacyModel
from dbanon.release.spec import resolve
from dbanon.source import missing_codes, stored_policy
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, person_value
from dbanon.source.stored_policy import DeclaredColumn, Policy, Settings
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.messages import error_sql
from dbanon.sqltext.quote import Sql, identifier, literal, text
from dbanon.sqltext.templates import fill
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
_PARAMETERS = (QI, _PERSON, SUPPRESSED)
_SENSITIVE_PARAMETERS = (
    QI,
    Parameter("sensitive", Columns(), "The columns that are measured; default: the declared sensitive columns."),
    _PERSON,
    _COMMON["multi_sensitive"],
    SUPPRESSED,
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
class _SensitiveColumn:
    """A sensitive column that is measured, with the hierarchy that applies to it.

    Attributes:
        column: The name of the column.
        type: The DuckDB type of the column.
        hierarchy: The hierarchy; None if it has none or the measure does not use one.
        label: The hierarchy's name as messages show it.
        requested: The hierarchy as the call named it; None if the policy declares it.
    """

    column: str
    type: str
    hierarchy: Hierarchy | None = None
    label: str = ""
    requested: str | None = None

    @property
    def is_number(self) -> bool:
        """Whether the type of the column is a number, date or time."""
        return family(self.type)[0] is not None


@dataclass(frozen=True)
class _Measure:
    """One form (variant) of a privacy model other than k, measured for one sensitive column.

    `anonymity` shows one row per measure.

    Attributes:
        name: The name in the result.
        model: The privacy model.
        form: The variant of the model, such as one of the l-diversities.
        sensitive_index: Index of the sensitive column.
    """

    name: str
    model: PrivacyModel
    form: ModelForm
    sensitive_index: int


def _model_by_function(function: str) -> PrivacyModel:
    """Return the privacy model (other than k) that the table function named `function` measures.

    Raises:
        StopIteration: No model has this function; there is none for `k_anonymity` and `anonymity`.
    """
    return next(m for m in registry.models() if m.function == function)


def _is_measurable(form: ModelForm, column: _SensitiveColumn) -> bool:
    """Return whether a form of a model is defined for a sensitive column.

    Yes if the form uses neither an order of values nor a hierarchy; if the column has a hierarchy; or if the form needs
    only an order and the column is a number, date or time.
    """
    return column.hierarchy is not None or not form.value_order or (form.value_order == "order" and column.is_number)


# --- the columns of a call -------------------------------------------------------------------------------


@dataclass(frozen=True)
class _ResolvedColumns:
    """The columns that a call measures, spelled as in the table; `person` identifies persons, None to count records."""

    qi: tuple[str, ...]
    sensitive: tuple[str, ...]
    person: str | None


def _resolve_columns(
    function: str, source: Source, declared: Iterable[DeclaredColumn], options: Options, with_sensitive: bool
) -> _ResolvedColumns:
    """Return the columns of a call: those that it names, else those that the policy declares.

    A declared column is ignored if the call names it for another purpose. Measuring publishes nothing, so a call may
    name any column.

    Args:
        function: The name of the table function.
        source: The measured table.
        declared: The columns that the policy declares.
        options: The parameters of the call: `qi`, `sensitive` and `person`.
        with_sensitive: Whether sensitive columns are returned; false for k-anonymity, which needs none.

    Raises:
        UnknownColumnError, UnknownRoleError: A column or a declared role does not exist.
        ConflictingRolesError, AmbiguousDataSubjectError: A column has two roles, or several columns identify persons.
        PolicyMissingError: No quasi-identifier is named or declared.
        SensitiveColumnMissingError: The function measures one model, which needs a sensitive column, and there is none.
    """
    parameter_of: dict[str, str] = {}
    for parameter in ("qi", "sensitive", "person"):
        value = options.get(parameter)
        for listed_name in (value,) if isinstance(value, str) else value or ():
            name = source.column(function, listed_name, parameter)
            if name in parameter_of:
                raise errors.ConflictingRolesError(function, source.shown, name, (parameter_of[name], parameter))
            parameter_of[name] = parameter
    policy = policy_by_column(function, source, declared)
    roles = {name: row.role for name, row in policy.items()}
    settings = {name: dict(row.settings.settings) for name, row in policy.items()}

    def columns_of(parameter: str, role: str) -> tuple[str, ...]:
        """Return the columns that the call lists in `parameter`; if it does not give it, those declared with `role`."""
        if options.get(parameter) is not None:
            return tuple(name for name, listed_in in parameter_of.items() if listed_in == parameter)
        return tuple(name for name in source.columns if roles.get(name) == role and name not in parameter_of)

    qi, sensitive = columns_of("qi", "quasi"), columns_of("sensitive", "sensitive") if with_sensitive else ()
    persons = stored_policy.person_columns((n, roles[n], settings[n]) for n in source.columns if n in roles)
    if options.get("person") is not None:
        persons = list(columns_of("person", "person"))
    if len(persons) > 1 and roles[persons[0]] == "pseudonym":
        is_declared_twice = settings.get(persons[0], {}).get("person", "").lower() == "true"
        raise errors.AmbiguousDataSubjectError(function, source.shown, persons, is_several=is_declared_twice)
    if len(persons) > 1:
        raise errors.ConflictingRolesError(function, source.shown, persons[1], ("person", f"person of {persons[0]}"))
    if persons and parameter_of.get(persons[0], "person") != "person":
        raise errors.ConflictingRolesError(function, source.shown, persons[0], (parameter_of[persons[0]], "person"))
    if not qi:
        raise errors.PolicyMissingError(function, source.shown, suggested_quasi_identifier(source.columns))
    if with_sensitive and not sensitive and function != _ALL:
        raise errors.SensitiveColumnMissingError(function, function, source.shown)
    return _ResolvedColumns(qi, sensitive, persons[0] if persons else None)


def _sensitive_columns(
    function: str,
    source: Source,
    sensitive: Sequence[str],
    declared: Iterable[DeclaredColumn],
    options: Options,
    find_hierarchy: Callable[[str, str], Hierarchy],
) -> list[_SensitiveColumn]:
    """Return the sensitive columns, each with its hierarchy if the function measures distances between values.

    Args:
        function: The name of the table function.
        source: The measured table.
        sensitive: The names of the sensitive columns.
        declared: The columns that the policy declares.
        options: The parameters of the call; `hierarchies` takes precedence over the policy.
        find_hierarchy: Returns the hierarchy for a column and a hierarchy's name.

    Raises:
        UnknownColumnError, UnknownHierarchyError: A named column or hierarchy does not exist.
        UnsupportedSettingError, UnusedArgumentError: The call gives a hierarchy that would have no effect.
        SensitiveHierarchyMissingError: The form of the model needs a hierarchy and the column has none.
    """
    model = None if function in (_K_ANONYMITY, _ALL) else _model_by_function(function)
    form = model.form(options.get(model.form_parameter)) if model else None
    requested: dict[str, str] = {}
    for key, value in options.per_column("hierarchies").items():
        name = source.column(function, key, "hierarchies")
        if name not in sensitive:
            reason = "it is not a sensitive column of this call."
            raise errors.UnsupportedSettingError(function, "hierarchies", source.shown, name, reason)
        requested[name] = value
    if requested and model and form and not form.value_order:
        raise errors.UnusedArgumentError(function, "hierarchies", f"{model.form_parameter} is '{form.name}'")
    declared_hierarchies = {
        source.spelled(d.column): d.settings.hierarchy for d in declared if d.role.lower() == "sensitive"
    }
    columns = []
    for name in sensitive:
        column = _SensitiveColumn(name, source.columns[name])
        hierarchy = requested.get(name) or declared_hierarchies.get(name)
        if hierarchy and (form is None or form.value_order):
            label = hierarchy if ";" not in hierarchy else "given as text"
            column = replace(
                column, hierarchy=find_hierarchy(name, hierarchy), label=label, requested=requested.get(name)
            )
        elif form is not None and form.value_order == "hierarchy":
            raise errors.SensitiveHierarchyMissingError(function, source.shown, name)
        columns.append(column)
    return columns


# --- the statement ---------------------------------------------------------------------------------------


def anonymity_sql(
    function: str,
    source: Source,
    policy: Policy,
    options: Options,
    find_hierarchy: Callable[[str, str], Hierarchy],
) -> Sql:
    """Return the SQL of one call of a measuring function, for a resolved source and policy.

    Args:
        function: The table function: `anonymity`, `k_anonymity`, or that of one model.
        source: The measured table.
        policy: The declared columns, and SQL and value of the policy's fingerprint; the SQL fails if the policy has
            changed.
        options: The validated parameters of the call.
        find_hierarchy: Returns the hierarchy for a column and a hierarchy's name.

    Raises:
        DbanonError: As `_resolve_columns` and `_sensitive_columns`; UnsupportedPersonError if the type of the person
            column cannot be counted.
    """
    declared, fingerprint_sql, fingerprint, _ = policy
    if function not in (_K_ANONYMITY, _ALL):
        model_request.refuse_other_forms(function, _model_by_function(function), options)
    columns = _resolve_columns(function, source, declared, options, function != _K_ANONYMITY)
    sensitive_columns = _sensitive_columns(function, source, columns.sensitive, declared, options, find_hierarchy)
    table = source.shown
    suppressed: str | None = options.get("suppressed")
    source = without_suppressed(source, map(identifier, columns.qi), suppressed)
    sensitive = [_sensitive_values(source, i, s) for i, s in enumerate(sensitive_columns)]
    return Sql(
        fill(
            "audit/anonymity/all_models.sql" if function == _ALL else "audit/anonymity/worst_classes.sql",
            source=source.rows,
            quasi=[
                {"name": identifier(n), "column": column_reference(n), "value": comparable_value(n, source.columns[n])}
                for n in columns.qi
            ],
            sensitive=sensitive,
            person=_person_value(function, source, columns.person),
            joint=options.get("multi_sensitive") == "joint" and len(sensitive) > 1,
            models=_model_values(function, columns, sensitive_columns, options),
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


def comparable_value(name: str, type_: str) -> Sql:
    """Return SQL of a column such that two values are equal exactly if readers see them as equal.

    Texts are compared byte by byte, whatever the collation of the column; -0.0 becomes 0.0. Other types are unchanged,
    also floats inside lists and structs.
    """
    if type_ in ("FLOAT", "DOUBLE"):
        return Sql(f"({identifier(name)} + 0::{type_})")
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_ == "VARCHAR" else identifier(name)


def _person_value(function: str, source: Source, name: str | None) -> Sql | None:
    """Return SQL that identifies the person of a record by the column `name`; None if that is None.

    Raises:
        UnsupportedPersonError: Persons cannot be counted by a column of this type.
    """
    if name is None:
        return None
    value = person_value(identifier(name), source.columns[name])
    if value is None:
        raise errors.UnsupportedPersonError(function, source.shown, name, source.columns[name])
    return value


def _sensitive_values(source: Source, index: int, column: _SensitiveColumn) -> dict[str, object]:
    """Return the template values of one sensitive column: index, name, SQL of its value, hierarchy, messages.

    The hierarchy is SQL of its rows; None without one. The messages are SQL that raises errors about it.
    """
    return {
        "i": index,
        "raw_name": column.column,
        "column": column_reference(column.column),
        "value": comparable_value(column.column, column.type),
        "rows": rows(column.hierarchy) if column.hierarchy else None,
        "say": hierarchy_messages(source.shown, column.column, column.label, column.requested),
    }


def _model_values(
    function: str, columns: _ResolvedColumns, sensitive: Sequence[_SensitiveColumn], options: Options
) -> list[dict[str, object]]:
    """Return the template values of all measures of a call, numbered in the order in which they are shown.

    k-anonymity is the first one for the functions `k_anonymity` and `anonymity`.

    `columns` are the resolved columns of the call, `sensitive` the sensitive ones with their hierarchies.
    """
    models: list[dict[str, object]] = []
    if function in (_K_ANONYMITY, _ALL):
        unit = "records" if columns.person is None else "persons"
        models.append(
            {
                "label": text("k_anonymity"),
                "file": None,
                "sensitive_label": Sql("NULL"),
                "better": text("higher"),
                "higher": True,
                "order": "",
                "what": text(f"Least number of {unit} in a class."),
            }
        )
    is_joint = options.get("multi_sensitive") == "joint" and len(sensitive) > 1
    models += [
        _measure_values(m, sensitive[m.sensitive_index], options, is_joint)
        for m in _measures(function, sensitive, options)
    ]
    return [values | {"number": number} for number, values in enumerate(models)]


def _measures(function: str, sensitive: Sequence[_SensitiveColumn], options: Options) -> list[_Measure]:
    """Return the measures (forms of privacy models for a sensitive column) that a call requests, without k-anonymity.

    `anonymity` measures all forms of all models that are defined for a column. The function of one model measures the
    form that the call names, for each column. `k_anonymity` has none.
    """
    if function == _K_ANONYMITY:
        return []
    if function == _ALL:
        model_forms = [(model, form) for model in registry.models() for form in model.forms]
        return [
            _Measure(f.table_measure.name, m, f, i)
            for i, s in enumerate(sensitive)
            for m, f in model_forms
            if _is_measurable(f, s)
        ]
    model = _model_by_function(function)
    form = model.form(options.get(model.form_parameter))
    return [_Measure(function, model, form, i) for i in range(len(sensitive))]


def _measure_values(measure: _Measure, column: _SensitiveColumn, options: Options, is_joint: bool) -> dict[str, object]:
    """Return the template values of one measure: label, SQL file, settings, better direction and description.

    If `is_joint`, the description says that the model is measured within equal values of the other sensitive columns.
    """
    form, table_measure = measure.form, measure.form.table_measure
    settings = {name: options.number(name) or default for name, default in form.settings.items()}
    description = table_measure.description.format(**settings) + (
        " Within equal values of the other sensitive columns." if is_joint else ""
    )
    better = table_measure.better or form.bound.better
    return {
        "name": measure.name,
        "label": text(measure.name),
        "raw_name": column.column,
        "file": measure.model.sql_file,
        "measure": table_measure.measure or form.name,
        "settings": {name: literal(value) for name, value in settings.items()},
        "order": form.value_order,
        "sensitive": measure.sensitive_index,
        "sensitive_label": text(column.column),
        "better": text(better),
        "higher": better == "higher",
        "most": Sql(f"'{form.bound.max_measure}'::DOUBLE"),
        "what": text(description),
    }


def measure_table(call: Call) -> Sql:
    """Return the SQL of a call that measures how far a table or a published release meets privacy models.

    For a published release that has not changed since, columns, hierarchies and persons default to those in the ledger;
    for any other table, to those of the policy.

    Raises:
        UnknownTableError: The table does not exist.
        DbanonError: As `anonymity_sql`.
    """
    source = call.source()
    policy = stored_policy.policy_of(source, call.cursor)
    source = missing_codes.without_codes(source, policy.declared, call.holds)
    names_all_columns = all(call.options.get(name, ()) is not None for name in ("qi", "sensitive", "person"))
    # Look up the ledger only if needed: the check reads the whole table.
    entry = None if names_all_columns else release_lookup.find_release(call, source)
    if entry is not None and release_lookup.entry_if_unchanged(call, entry, call.options["qi"] is None) is not None:
        declared = release_lookup.release_declarations(call, entry, source)
        source_with_persons = (
            release_lookup.add_person_column(call, entry, source) if call.options["person"] is None else None
        )
        if source_with_persons is not None:
            source, declared = (
                source_with_persons,
                (*declared, DeclaredColumn(release_lookup.PERSON_COLUMN, "person", Settings())),
            )
        policy = policy._replace(declared=declared)
    return anonymity_sql(
        call.function.name,
        source,
        policy,
        call.options,
        partial(resolve.sensitive_hierarchy, call, source, policy=policy),
    )


# --- the table functions ---------------------------------------------------------------------------------

_EXAMPLE_QI = "qi = ['sex', 'zip']"
_EXAMPLE_SENSITIVE = f"{_EXAMPLE_QI}, sensitive = ['disease']"
_RESULT = "Returns the achieved value and the ten worst classes"


def _table_function(
    name: str, parameters: tuple[Parameter, ...], description: str, example: str = _EXAMPLE_SENSITIVE
) -> TableFunction:
    """Return a table function with one argument, the table, that `measure_table` handles.

    Args:
        name: The name of the function.
        parameters: Its parameters.
        description: Its description.
        example: The list of arguments after the table in the example.
    """
    complete_example = Example(f"SELECT * FROM {name}('safe', {example});", SAFE)
    return TableFunction(name, ("tbl",), parameters, description, handler=measure_table, example=complete_example)


def _model_function(model: PrivacyModel) -> TableFunction:
    """Return the table function that measures one privacy model other than k.

    Its parameters are the columns (`qi`, `sensitive`, `person`, `multi_sensitive`) and those of the model except its
    bound; also `hierarchies` if a form of the model uses an order of values.
    """
    hierarchy_parameter = (_HIERARCHIES,) if any(form.value_order for form in model.forms) else ()
    example = ", ".join([_EXAMPLE_SENSITIVE, *([model.example] if model.example else [])])
    parameters = (*_SENSITIVE_PARAMETERS, *model.parameters[1:], *hierarchy_parameter)
    return _table_function(model.function, parameters, f"{_RESULT}: {model.description}.", example)


_FORM_PARAMETERS = tuple(
    p for m in registry.models() for p in m.parameters[1:] if any(p.name in form.settings for form in m.forms)
)
"""Parameters of single forms of the models, such as the values of recursive diversity."""

FUNCTIONS = (
    _table_function(_K_ANONYMITY, _PARAMETERS, f"{_RESULT}: records (persons) in a class.", _EXAMPLE_QI),
    *(_model_function(model) for model in registry.models()),
    _table_function(
        _ALL,
        (*_SENSITIVE_PARAMETERS, *_FORM_PARAMETERS, _HIERARCHIES),
        "Returns the achieved value of a table for every privacy model, the number of classes with this value, and "
        "the number of records in them.",
    ),
)
"""At most eight parameters each: all of them accept `name = value` (see dbanon.table_functions.arguments)."""
