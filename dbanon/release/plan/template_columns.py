"""Define the columns of a release as templates read them: values, names, hierarchies and error messages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from dbanon import errors
from dbanon.errors.hierarchies import uncovered_values_call
from dbanon.policy.attribute import Attribute
from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.policy.hierarchies.storage import Hierarchy, InlineHierarchy, StoredHierarchy
from dbanon.policy.hierarchies.value_labels import value_label
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.release.plan.named_column import HashedColumn, NamedColumn
from dbanon.release.plan.number_column import NumberColumn, number_column
from dbanon.release.plan.passthrough_column import PassthroughColumn
from dbanon.release.spec import transformed_columns
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.source.canonical_text import canonical_form
from dbanon.source.column_types import family, is_zoned, person_value
from dbanon.source.type_families import FAMILIES, Family
from dbanon.sqltext.column_labels import column_reference, derived_reference
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, join_sql, text


@dataclass(frozen=True)
class TreeColumn(HashedColumn):
    """A column of categories with its hierarchy: a quasi-identifier, or a sensitive column ordered by the hierarchy.

    Attributes:
        i: The number of the column among the quasi-identifiers, or among the sensitive columns.
        tree: The number of its hierarchy; negative for a sensitive column.
        raw_name: Its name.
        source_value: SQL of the column with NULL for codes of missing values.
        say: The error messages about its values, as SQL, by name.
        message_names: SQL of the names that messages about its hierarchy mention: table, column, hierarchy, and the
            call that lists values without a leaf.
        source_type: Its type.
        hierarchy: The hierarchy; None: all values are below one root.
        min_level: The least level that may be published.
        round: The step between levels that may be published: with 2, every second one.
        has_magnitudes: Its values are numbers or dates.
        is_drawn: Its values are published with noise.
        is_sensitive: It is a sensitive column.
        leaf_shapes: How the hierarchy of a quasi-identifier writes numbers and truth values; empty: as DuckDB does.
        type: The DuckDB type in which values are compared: VARCHAR.
    """

    i: int
    tree: int
    raw_name: str
    source_value: Sql
    say: Mapping[str, Sql]
    message_names: Sql
    source_type: str
    hierarchy: Hierarchy | None
    min_level: int = 0
    round: int = 1
    has_magnitudes: bool = False
    is_drawn: bool = False
    is_sensitive: bool = False
    leaf_shapes: tuple[str, ...] = ()
    type: Sql = field(default=Sql("VARCHAR"))

    is_number: ClassVar[bool] = False

    @property
    def column(self) -> Sql:
        """The quoted name of its values in a statement; those of a sensitive column are texts of its values."""
        return derived_reference("category", self.raw_name) if self.is_sensitive else column_reference(self.raw_name)

    @property
    def value(self) -> Sql:
        """SQL of the text of a value by which it is found among the labels of the hierarchy.

        It has a binary collation. Codes for missing values are NULL.
        """
        return Sql(f"{value_label(self.source_value, self.source_type, self.leaf_shapes)} COLLATE POSIX")

    @property
    def rows(self) -> Sql | None:
        """SQL of the rows of the hierarchy, or None."""
        return None if self.hierarchy is None else hierarchy_sql.rows(self.hierarchy)

    @property
    def stored_table(self) -> Sql | None:
        """The table that stores the hierarchy, or None."""
        return hierarchy_sql.stored_table(self.hierarchy) if isinstance(self.hierarchy, StoredHierarchy) else None

    @property
    def stored_name(self) -> Sql | None:
        """The name of a stored hierarchy, as a SQL string literal, or None."""
        return text(self.hierarchy.name) if isinstance(self.hierarchy, StoredHierarchy) else None

    @property
    def inline_paths(self) -> Sql | None:
        """SQL of the paths of labels of a hierarchy that is part of the call, or None."""
        return hierarchy_sql.path_lists(self.hierarchy) if isinstance(self.hierarchy, InlineHierarchy) else None

    @property
    def is_zoned(self) -> bool:
        """Whether the column's values are instants (TIMESTAMP WITH TIME ZONE), whose labels are texts in UTC."""
        return is_zoned(self.source_type)


QuasiColumn = NumberColumn | TreeColumn


@dataclass(frozen=True)
class ModelView:
    """One privacy model (other than k) of one sensitive column, as templates read it.

    Attributes:
        number: Its number among all privacy models of the release.
        raw_name: The sensitive column.
        column: The name of the sensitive column, as a SQL string literal.
        label: What distinguishes it from other models of the column: the parameter that requests it and, if it is
            requested in several forms (by versions that are compared), its number.
        parameter: The parameter of the call that requests the privacy model, such as l or t.
        file: The name of the file with the SQL of the privacy model's measure.
        form: The variant of the privacy model, such as distinct or entropy.
        settings: The settings of the privacy model's form by name, as SQL literals.
        bound: The requested value of the privacy model, a minimum or maximum for every class, as a SQL literal.
        higher: Higher values of the model protect better, so that the bound is a minimum.
        strict: A class whose value equals the bound violates the privacy model.
        compares: A class is compared with the distribution of values in the whole table.
        order: The structure of sensitive values that the model's form uses: '' (none), 'order' or 'hierarchy'.
        places: The names of the SQL columns with the order or hierarchy of the sensitive values; [] if none is used.
        metric: The name of the metric that states the value of the model that a release achieves.
    """

    number: int
    raw_name: str
    column: Sql
    label: str
    parameter: str
    file: str
    form: str
    settings: Mapping[str, Sql]
    bound: Sql
    higher: bool
    strict: bool
    compares: bool
    order: str
    places: list[Sql]
    metric: str

    @property
    def metric_label(self) -> Sql:
        """The name METRIC:COLUMN of the model's metric for the sensitive column, as a SQL string literal."""
        return text(f"{self.metric}:{self.raw_name}")


@dataclass(frozen=True)
class SensitiveColumnView(NamedColumn):
    """A sensitive column that a privacy model or the algorithm reads.

    Attributes:
        i: Its number among the sensitive columns.
        u: Its number among the unchanged columns.
        raw_name: Its name.
        tree: The column with its hierarchy, or None.
        number: How distances between its values are measured, for the random forest of the influence; else None.
        models: Its privacy models.
    """

    i: int
    u: int
    raw_name: str
    tree: TreeColumn | None
    number: Mapping[str, Family | Sql] | None
    models: tuple[ModelView, ...]

    @property
    def different_label(self) -> Sql:
        """The name `l:COLUMN` of the stream metric that counts distinct sensitive values, as a SQL text literal."""
        return text(f"l:{self.raw_name}")


def quasi_column(spec: ReleaseSpec, i: int, attribute: Attribute, statement_name: str | None = None) -> QuasiColumn:
    """Return quasi-identifier number `i` as templates read it: a NumberColumn, or a TreeColumn for categories.

    It includes the error messages about the column, as SQL.

    Args:
        spec: The release spec.
        i: The number.
        attribute: The attribute of the quasi-identifier.
        statement_name: The name by which the statement counts its values; None: the attribute's name.
    """
    column, settings = attribute.quasi.column, attribute.quasi.settings
    counted_name = column if statement_name is None else statement_name
    function, table = spec.function, spec.source.shown
    table_name, column_name = sql_placeholder(text(table)), sql_placeholder(text(column))
    n_nulls, n_infinite = (
        sql_placeholder(str(derived_reference(problem, counted_name))) for problem in ("nulls", "infinite")
    )
    messages = {
        "nulls": error_sql(
            errors.UnexpectedNullError(
                function, table_name, column_name, n_nulls, is_stream=bool(spec.reading.order_columns)
            )
        ),
        "wild": error_sql(errors.NonFiniteValueError(function, table_name, column_name, n_infinite)),
        "no_values": error_sql(errors.ColumnAllNullError(function, table_name, column_name)),
    }
    if attribute.family is not None:
        return number_column(
            attribute,
            FAMILIES[attribute.family],
            i,
            spec.column_sql(column),
            messages,
            has_noise=spec.run.noise is not None,
        )
    return TreeColumn(
        i,
        i,
        column,
        spec.column_sql(column),
        messages,
        _message_names(spec, column, settings.hierarchy or "none"),
        source_type=attribute.quasi.type,
        hierarchy=attribute.hierarchy,
        min_level=settings.min_level or 0,
        round=attribute.round,
        has_magnitudes=_is_plain_number(attribute.quasi.type),
        is_drawn=spec.run.noise is not None and spec.run.noise.categories,
        leaf_shapes=attribute.leaf_shapes,
    )


def _is_plain_number(type_: str) -> bool:
    """Return whether a DuckDB type belongs to a family of plain numbers (`Family.is_plain`)."""
    name = family(type_)[0]
    return name is not None and FAMILIES[name].is_plain


def unchanged_columns(spec: ReleaseSpec) -> list[PassthroughColumn]:
    """Return the columns that are published without generalization, in the order of the table.

    Rare values are checked in insensitive columns, masks and shifted dates that `allow_rare` does not list, unless the
    source is a part of a larger table.
    """
    roles, function, table = spec.roles, spec.function, spec.source.shown
    allowed_rare = {fold_case(n) for n in spec.options.columns("allow_rare")}
    return [
        PassthroughColumn(
            raw_name=name,
            type=spec.transformed[name].type if name in spec.transformed else spec.source.columns[name],
            i=i,
            source_value=_transformed_value(spec, name) if name in spec.transformed else spec.column_sql(name),
            is_sensitive=name in roles.sensitive,
            check_rare=(name in roles.insensitive or (name in spec.transformed and name not in spec.pseudonym_columns))
            and fold_case(name) not in allowed_rare
            and spec.reading.whole_table is None,
            is_link=name in spec.pseudonym_columns,
            say_rare=error_sql(
                errors.RareValueError(
                    function,
                    table,
                    name,
                    sql_placeholder("count(*)"),
                    spec.k,
                    roles.transformed.get(name, "insensitive"),
                )
            ),
            say_rare_left=error_sql(
                errors.RareAfterSuppressionError(
                    function, table, name, sql_placeholder(f"{derived_reference('rare', name)}.values"), spec.k
                )
            ),
        )
        for i, name in enumerate(spec.unchanged)
    ]


def _transformed_value(spec: ReleaseSpec, name: str) -> Sql:
    """Return SQL of the published value (pseudonym, masked text or shifted date) of a transformed column."""
    column_text, type_ = f"{spec.source.shown}.{name}", spec.source.columns[name]
    return transformed_columns.transformed_value_sql(
        spec.function, column_text, spec.transformed[name], spec.column_sql(name), type_, person_value_sql(spec)
    )


def model_columns(spec: ReleaseSpec, unchanged: Sequence[PassthroughColumn]) -> list[SensitiveColumnView]:
    """Return all sensitive columns as templates read them; [] if neither a privacy model nor the algorithm reads any.

    Args:
        spec: The release spec.
        unchanged: The columns published without generalization, among which the sensitive ones are.

    Raises:
        SensitiveHierarchyMissingError: A privacy model needs a hierarchy that the column lacks.
    """
    if not spec.uses_sensitive:
        return []
    unchanged_numbers = {u.raw_name: u.i for u in unchanged}
    columns = []
    for i, name in enumerate(spec.roles.sensitive):
        hierarchy = spec.sensitive_hierarchies.get(name)
        if hierarchy is None and any(
            d.form_definition.value_order == "hierarchy" for d in spec.model_requirements if d.sensitive == i
        ):
            raise errors.SensitiveHierarchyMissingError(spec.function, spec.source.shown, name)
        columns.append(
            SensitiveColumnView(
                i,
                unchanged_numbers[name],
                name,
                tree=_sensitive_tree(spec, i, name, hierarchy) if hierarchy is not None else None,
                number=_magnitude(spec.source.columns[name]) if spec.run.forest is not None else None,
                models=_model_views(spec.model_requirements, i, name),
            )
        )
    return columns


def _model_views(requirements: Sequence[ModelRequirement], i: int, name: str) -> tuple[ModelView, ...]:
    """Return the privacy models of sensitive column number `i`, the column `name`, as templates read them."""
    parameters = [r.parameter for r in requirements if r.sensitive == i]
    return tuple(
        ModelView(
            n,
            name,
            column=text(name),
            label=r.parameter if parameters.count(r.parameter) == 1 else f"{r.parameter} {n}",
            parameter=r.parameter,
            file=r.privacy_model.sql_file,
            form=r.form,
            settings={setting: Sql(repr(value)) for setting, value in r.settings.items()},
            bound=Sql(repr(r.bound)),
            higher=r.form_definition.is_higher,
            strict=r.form_definition.bound.strict,
            compares=r.form_definition.uses_overall,
            order=r.form_definition.value_order,
            places=[Sql(column) for column in r.form_definition.order_columns],
            metric=r.form_definition.metric.name,
        )
        for n, r in enumerate(requirements)
        if r.sensitive == i
    )


def _sensitive_tree(spec: ReleaseSpec, i: int, name: str, hierarchy: Hierarchy) -> TreeColumn:
    """Return sensitive column number `i`, the column `name`, as a column of categories with its hierarchy."""
    message_names = _message_names(spec, name, spec.roles.sensitive_hierarchies[name])
    type_ = spec.source.columns[name]
    return TreeColumn(i, -1 - i, name, spec.column_sql(name), {}, message_names, type_, hierarchy, is_sensitive=True)


def _message_names(spec: ReleaseSpec, column: str, hierarchy: str) -> Sql:
    """Return SQL of the four names that messages about the hierarchy of a column mention (`TreeColumn`)."""
    table = spec.source.shown
    call = uncovered_values_call(table, column, spec.options.of_column("hierarchies", column))
    return join_sql(map(text, (table, column, hierarchy, call)))


def _magnitude(type_: str) -> dict[str, Family | Sql] | None:
    """Return how distances between values of a type are measured; None if they are neither numbers nor times.

    That is their family, and for decimals their type (`decimal_type`) and the number of units per 1 (`scale`).
    """
    name, scale = family(type_)
    if name is None:
        return None
    return {"family": FAMILIES[name], "decimal_type": Sql(f"DECIMAL(38,{scale})"), "scale": Sql(f"1e{scale}")}


def tie_break_columns(
    spec: ReleaseSpec, unchanged: Sequence[PassthroughColumn], sensitive: Sequence[SensitiveColumnView]
) -> tuple[PassthroughColumn, ...]:
    """Return the columns by which records of equal quasi-identifier codes are ordered when clusters are formed.

    They are the columns of `sensitive`. If noise is drawn or a refresh keeps classes, they are all columns of
    `unchanged`: noise must not be predictable without the table, and a refresh identifies records by all their
    published values.
    """
    if spec.run.noise is not None or spec.version_constraints.kept_members is not None:
        return tuple(unchanged)
    sensitive_numbers = {s.u for s in sensitive}
    return tuple(u for u in unchanged if u.i in sensitive_numbers)


def tie_break_mode(spec: ReleaseSpec, columns: Sequence[PassthroughColumn]) -> str:
    """Return the way to hash `columns`, which order records: 'value' per distinct value, 'row' per row, '' without any.

    It is 'row' if there is a person column, or if equal values of the type of one of the columns can have different
    texts (0.0 and -0.0, a month and 30 days).
    """
    if not columns:
        return ""
    return "value" if spec.roles.person is None and all(u.text_is_value for u in columns) else "row"


def person_value_sql(spec: ReleaseSpec) -> Sql | None:
    """Return SQL of a value that identifies the person of a record; None without a person column.

    Values of equal persons are equal in every session.

    Raises:
        UnsupportedPersonError: The type of the column cannot identify persons.
    """
    name = spec.roles.person
    if name is None:
        return None
    value = person_value(spec.column_sql(name), spec.source.columns[name])
    if value is None:
        raise errors.UnsupportedPersonError(spec.function, spec.source.shown, name, spec.source.columns[name])
    return value


def person_key_sql(spec: ReleaseSpec) -> Sql | None:
    """Return SQL of a record's key from the columns `version_constraints.person_key`; None if there are none.

    They identify persons without having the role person. The key is the canonical text of one column, or a JSON list of
    the texts of several.
    """
    texts = [
        canonical_form(spec.source.columns[name]).format(value=identifier(name))
        for name in spec.version_constraints.person_key
    ]
    if len(texts) > 1:
        return Sql(f"to_json([{join_sql(texts)}]::VARCHAR[])::VARCHAR")
    return Sql(texts[0]) if texts else None


def person_text_sql(spec: ReleaseSpec) -> Sql | None:
    """Return SQL of a person's canonical text, with the placeholder `{value}`; None without a person column."""
    name = spec.roles.person
    if name is None:
        return None
    type_ = spec.source.columns[name]
    return canonical_form("BIGINT" if type_ == "TIMESTAMP WITH TIME ZONE" else type_)
