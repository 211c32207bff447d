"""Pair the columns of a release with those of its source, and read values of both as numbers and intervals."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.errors.hierarchies import uncovered_values_call
from dbanon.policy.column_names.hints import suggested_quasi_identifier
from dbanon.policy.column_roles import ROLES
from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.policy.hierarchies.messages import MALFORMED
from dbanon.policy.hierarchies.storage import StoredHierarchy
from dbanon.policy.hierarchies.value_labels import has_notations, leaf_shapes, value_label
from dbanon.release.spec import resolve
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, is_category, is_nested
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.column_labels import column_reference
from dbanon.sqltext.messages import Message, error_sql, sql_placeholder
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.quote import Sql, identifier, literal, text
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call


def source_check_values(function: str, source: Source) -> dict[str, object]:
    """Return template values with which the statement checks that a table name still means the planned table.

    `bare` is SQL of the lower-case name if it was given without a schema, so that a temporary table could hide it, else
    None. `changed` and `shadowed` are SQL that raises the errors about a changed policy and a hidden table.
    """
    return {
        "bare": text(source.table.lower()) if source.bare else None,
        "changed": error_sql(errors.PolicyChangedError(function, source.shown)),
        "shadowed": error_sql(errors.ShadowedTableError(function, source.shown, str(source.sql))),
    }


def shared_columns(
    function: str, release: Source, source: Source, declared: Sequence[DeclaredColumn], requested: Sequence[str] | None
) -> dict[str, Sql]:
    """Return the columns in which release and source are compared: SQL of the published value, by the source's name.

    A column is published under its name, or as two columns with its bounds. Columns that the call names must be in both
    tables; declared quasi-identifiers that were not published are skipped.

    Args:
        function: The called function, for messages.
        release: The release.
        source: The source.
        declared: The declared columns of the source.
        requested: The columns that the call names; None for the declared quasi-identifiers.

    Raises:
        UnknownColumnError, UnknownRoleError: A column or a declared role does not exist.
        ConflictingRolesError: A column is named twice.
        PolicyMissingError, NoCommonQuasiIdentifiersError: There is no column to compare.
    """
    parameter = "dbanon.policy" if requested is None else "qi"
    if requested is None:
        names = columns_with_role(source, declared, "quasi")
        order = [fold_case(name) for name in source.columns]
        names.sort(key=lambda name: order.index(fold_case(name)) if fold_case(name) in order else -1)
    else:
        names = list(requested)
    if not names:
        raise errors.PolicyMissingError(function, source.shown, suggested_quasi_identifier(source.columns))
    shared: dict[str, Sql] = {}
    for name in names:
        column = source.column(function, name, parameter)
        if column in shared:
            raise errors.ConflictingRolesError(function, source.shown, column, ("quasi", "quasi"))
        published_value = release_value(release, column)
        if published_value is None and requested is not None:
            raise errors.UnknownColumnError(function, release.shown, name, parameter, release.columns)
        if published_value is not None:
            shared[column] = published_value
    if not shared:
        raise errors.NoCommonQuasiIdentifiersError(function, release.shown, source.shown, names)
    return shared


def columns_with_role(source: Source, declared: Sequence[DeclaredColumn], role: str) -> list[str]:
    """Return the columns that are declared with a role, of the declared columns of a source.

    Raises:
        UnknownRoleError: A declared role, of any column, does not exist.
    """
    for row in declared:
        if row.role.lower() not in ROLES:
            raise errors.UnknownRoleError(source.shown, row.column, row.role, ROLES)
    return [row.column for row in declared if row.role.lower() == role]


def release_value(release: Source, column: str) -> Sql | None:
    """Return SQL of the published value of a source's column in a release; None if the release does not publish it.

    It is the column itself, or a struct {low, high} of the two columns with its bounds, such as age_min and age_max.
    """
    column_name, low, high = (release.spelled(name) for name in (column, f"{column}_min", f"{column}_max"))
    if column_name is not None:
        return identifier(column_name)
    if low is None or high is None:
        return None
    bounds = f"{{'low': {identifier(low)}, 'high': {identifier(high)}}}"
    return Sql(f"CASE WHEN {identifier(low)} IS NOT NULL THEN {bounds} END")


def hierarchies_by_column(
    function: str,
    source: Source,
    columns: Mapping[str, Sql],
    declared: Sequence[DeclaredColumn],
    options: Options,
    other_columns: Collection[str] = (),
) -> dict[str, tuple[str, str | None]]:
    """Return the hierarchies by column: (name, name that the call gave; None if the policy declares the hierarchy).

    A hierarchy in the call takes precedence. Columns without a hierarchy are missing.

    Args:
        function: The called function, for messages.
        source: The source.
        columns: The compared columns (the keys).
        declared: The declared columns of the source.
        options: The parameters of the call.
        other_columns: Columns in addition to `columns` that may have a hierarchy.

    Raises:
        UnknownColumnError, UnsupportedSettingError: The call names a hierarchy of a column that is neither in `columns`
            nor in `other_columns`.
    """
    spelled = {fold_case(name): name for name in (*columns, *other_columns)}
    hierarchies: dict[str, tuple[str, str | None]] = {
        spelled[fold_case(row.column)]: (row.settings.hierarchy, None)
        for row in declared
        if row.settings.hierarchy and fold_case(row.column) in spelled
    }
    for key, name in options.per_column("hierarchies").items():
        if fold_case(key) not in spelled:
            source.column(function, key, "hierarchies")
            reason = "it is not a quasi-identifier that release and source share."
            raise errors.UnsupportedSettingError(function, "hierarchies", source.shown, key, reason)
        hierarchies[spelled[fold_case(key)]] = (name, name)
    return hierarchies


_PARSABLE_VALUES = {
    "number": "25, [25, 29], <=18, >=90, [85, >=90]",
    "moment": "2020-01-31, [2020-01-01, 2020-01-31], 2020-01, 2020-Q1, [1926, 1934], and the same forms of times",
    "node": "nodes of its hierarchy",
    "flat": "values of the source, masks and intervals of them",
}
_COLUMN_FIELDS = tuple(sql_placeholder(str(i)) for i in range(6))
"""What is inserted into a message about a column: table, column, detail, hierarchy, published forms, call."""

_COUNT_MARK = "\x01"
"""The place of the detail in a message, where it is a count greater than 1."""


def column_message_values(function: str, release: Source) -> dict[str, object]:
    """Return template values of the messages about columns that do not fit.

    Returns:
        - `reasons`: SQL of what can be wrong with a hierarchy, by the name of the check.
        - `messages`: In each, `name` is SQL of its name, and `message` SQL of a text for DuckDB's `format`, into which
          the fields of the column are inserted. If the detail is the count 1, the text is `message_of_one`,
          which is NULL for messages without a count.
          `is_of_hierarchy` is whether only columns with a hierarchy have the message.
    """
    errors_of_one = _column_errors(function, release, "1")
    return {
        "reasons": {name: text(reason) for name, reason in MALFORMED.items()},
        "messages": [
            {
                "name": text(name),
                "message": _format_text(error_sql(error)),
                "message_of_one": _format_text(error_sql(errors_of_one[name]))
                if name != "malformed"
                else literal(None),
                "is_of_hierarchy": name in ("malformed", "uncovered"),
            }
            for name, error in _column_errors(function, release, _COUNT_MARK).items()
        ],
    }


def _column_errors(function: str, release: Source, count: str) -> dict[str, Exception]:
    """Return the errors about columns that do not fit, by the name of the check; most state a `count`."""
    table, column, detail, hierarchy, forms, call = _COLUMN_FIELDS
    return {
        "malformed": errors.MalformedHierarchyError(hierarchy, detail),
        "uncovered": errors.UncoveredValueError(table, column, count, hierarchy, None, values_call=call),
        "not finite": errors.NonFiniteValueError(function, table, column, count),
        "not a published form": errors.UnparsablePublishedValueError(function, count, release.shown, column, forms),
    }


def _format_text(message: Message) -> Sql:
    """Return SQL of the text of a message for DuckDB's `format`: its expressions are numbers of arguments."""
    pieces = [piece.replace("{", "{{").replace("}", "}}").replace(_COUNT_MARK, "{2}") for piece in message.pieces]
    fields = [f"{{{expression}}}" for expression in message.expressions]
    return text("".join(piece + field for piece, field in zip(pieces, [*fields, ""], strict=True)))


@dataclass(frozen=True)
class PairSpec:
    """A column of a source table and what a release publishes of it.

    Attributes:
        index: Number of the column in the SQL.
        column: Name of the column in the source table.
        published_value: SQL of the published value.
        hierarchy: Name of the hierarchy, and the name that the call gave (None: declared); None without a hierarchy.
        source_cells: CTE of the source's values, named after its columns, with a column records.
        published_cells: CTE of the published texts, named after the columns of the source.
        hierarchy_source: The source whose hierarchies apply, if `column` belongs to another table of people (a register
            or population); None if it belongs to the source itself.
    """

    index: int
    column: str
    published_value: Sql
    hierarchy: tuple[str, str | None] | None
    source_cells: str = "source_cells"
    published_cells: str = "published_cells"
    hierarchy_source: Source | None = None


@dataclass(frozen=True)
class NumericReading:
    """The way to read values of a column, and published ends of its intervals, as numbers.

    Attributes:
        value: SQL of a value as DOUBLE (or text, if the column is not read as a number).
        step: 1 for whole numbers, days and microseconds; 0 for fractions.
        is_averaged: Whether averages of the column are meaningful.
        is_moment: Whether it is a date or time.
        text_type: The type through which the text of a number becomes a DOUBLE; None for other columns.
        unit_us: Microseconds per step of a date or time.
        day_end: Steps from the start of a published day to its end.
    """

    value: Sql
    step: int = 1
    is_averaged: bool = False
    is_moment: bool = False
    text_type: Sql | None = None
    unit_us: int | None = None
    day_end: int | None = None


@dataclass(frozen=True)
class ColumnTexts:
    """SQL of the texts that messages about a column contain.

    Attributes:
        table: The name of its table.
        hierarchy: The name of its hierarchy; empty without one.
        forms: The forms in which its values are published.
        uncovered_call: The call that lists values which its hierarchy does not have; empty without one.
        no_values: The message that all its values are NULL.
    """

    table: Sql
    hierarchy: Sql
    forms: Sql
    uncovered_call: Sql
    no_values: Sql


@dataclass(frozen=True, kw_only=True)
class PairedColumn(NumericReading):
    """A column of a source and what the release publishes of it, as SQL templates need it.

    See `PairSpec` and `NumericReading`.

    Attributes:
        qi_index: Number of the quasi-identifier that it belongs to.
        influence: Its weight in the distortion.
        is_number: Whether it is read as a number.
        is_numeric: Whether its type is a number, date or time, even if a hierarchy applies.
        is_other_people: Whether it belongs to another table of people.
        hierarchy_table: SQL of the table that stores its hierarchy; None without a stored one.
        node_lists: SQL of the nodes of a hierarchy that is not stored; else None.
        column: Its quoted name in statements, both for raw values and for published texts.
        label: SQL of the name of the column in messages.
        texts: The texts of its messages.
    """

    i: int
    raw_name: str
    label: Sql
    published_value: Sql
    source_cells: Sql
    published_cells: Sql
    hierarchy_table: Sql | None
    node_lists: Sql | None
    is_number: bool
    is_numeric: bool
    is_other_people: bool
    column: Sql
    texts: ColumnTexts
    qi_index: int | None = None
    influence: Sql | None = None

    @property
    def key(self) -> Sql:
        """The value, as a SQL string literal, by which relations with one row per column and value refer to it."""
        return text(self.raw_name)

    @property
    def has_hierarchy(self) -> bool:
        """Whether the column has a hierarchy."""
        return self.hierarchy_table is not None or self.node_lists is not None

    @property
    def reading_kind(self) -> tuple[str, int, int]:
        """A key, equal for columns of numbers, dates and times whose published texts are read in the same way."""
        return str(self.text_type), self.unit_us or 0, self.day_end or 0


def pair_column(call: Call, source: Source, pair: PairSpec) -> PairedColumn:
    """Return one column of source and release as SQL templates need it.

    With a hierarchy it is read as a category; otherwise numbers, dates and times are read as numbers, and other types
    as text.

    Args:
        call: The call.
        source: The table that has the column.
        pair: The column, its published value and its hierarchy.

    Raises:
        UnsupportedTypeError: The type of the column cannot be compared.
        UnknownHierarchyError: The hierarchy does not exist.
    """
    function, column, hierarchy = call.function.name, pair.column, pair.hierarchy
    type_ = source.columns[column]
    kind = None if hierarchy else family(type_)[0]
    if (kind is None and hierarchy is None and not is_category(type_)) or is_nested(type_):
        raise errors.UnsupportedTypeError(function, source.shown, column, type_)
    name, requested = hierarchy or ("none", None)
    parsable_values = "node" if hierarchy else "flat"
    hierarchy_table = node_lists = None
    shapes: tuple[str, ...] = ()
    if kind is not None:
        reading = _numeric_reading(kind, type_, identifier(column))
        parsable_values = "moment" if kind in _TIME_FAMILIES else "number"
    else:
        if hierarchy:
            tree = resolve.sensitive_hierarchy(call, pair.hierarchy_source or source, column, name)
            if isinstance(tree, StoredHierarchy):
                hierarchy_table = hierarchy_sql.stored_table(tree)
            else:
                node_lists = hierarchy_sql.node_lists(tree)
            shapes = leaf_shapes(call.cursor, tree) if has_notations(type_) else ()
        reading = NumericReading(Sql(f"{value_label(identifier(column), type_, shapes)} COLLATE POSIX"))
    return PairedColumn(
        i=pair.index,
        raw_name=column if pair.hierarchy_source is None else f"{identifier(column)} of other people",
        column=column_reference(column),
        label=text(column),
        published_value=pair.published_value,
        source_cells=Sql(pair.source_cells),
        published_cells=Sql(pair.published_cells),
        hierarchy_table=hierarchy_table,
        node_lists=node_lists,
        is_number=kind is not None,
        is_numeric=family(type_)[0] is not None,
        is_other_people=pair.hierarchy_source is not None,
        texts=ColumnTexts(
            table=text(source.shown),
            hierarchy=text("" if hierarchy is None else "given as text" if ";" in name else name),
            forms=text(_PARSABLE_VALUES[parsable_values]),
            uncovered_call=text("" if hierarchy is None else uncovered_values_call(source.shown, column, requested)),
            no_values=error_sql(errors.ColumnAllNullError(function, source.shown, column)),
        ),
        **vars(reading),
    )


_TIME_FAMILIES = ("date", "timestamp", "nanos", "time")


def _numeric_reading(kind: str, type_: str, name: Sql) -> NumericReading:
    """Return how the values of a column of numbers, dates or times are read as numbers.

    Infinite dates and timestamps become infinite numbers of the same sign. Instants are read in UTC.

    Args:
        kind: The family of its type: integer, huge, decimal, float, date, timestamp, nanos or time.
        type_: The DuckDB type.
        name: SQL of the column.
    """
    if kind not in _TIME_FAMILIES:
        is_fractional = kind == "float" or family(type_)[1] > 0
        # The text of a FLOAT differs from the text of the DOUBLE with the same value.
        text_type = Sql("FLOAT" if type_ == "FLOAT" else "DOUBLE")
        return NumericReading(
            Sql(f"({name}::DOUBLE + 0)"), 0 if is_fractional else 1, is_averaged=True, text_type=text_type
        )
    stamp = f"({name} AT TIME ZONE 'UTC')" if type_ == "TIMESTAMP WITH TIME ZONE" else str(name)
    if kind == "date":
        value, unit_us, day_end = f"({stamp} - DATE '1970-01-01')::DOUBLE", 86_400_000_000, 0
    else:
        value, unit_us, day_end = (
            f"epoch_us({stamp}{'::TIMESTAMP' if kind == 'nanos' else ''})::DOUBLE",
            1,
            86_399_999_999,
        )
    if kind != "time":
        infinite = f"CASE WHEN {stamp} < DATE '1970-01-01' THEN '-inf'::DOUBLE ELSE 'inf'::DOUBLE END"
        value = f"CASE WHEN {stamp} IS NULL THEN NULL WHEN isfinite({stamp}) THEN {value} ELSE {infinite} END"
    return NumericReading(Sql(value), is_moment=True, unit_us=unit_us, day_end=day_end)
