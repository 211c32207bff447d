"""A release beside a raw table: the columns they share, and how values of both are read as numbers and intervals."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.column_names.hints import suggested_quasi_identifier
from dbanon.policy.column_roles import ROLES
from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.policy.hierarchies.messages import hierarchy_messages
from dbanon.release.spec import resolve
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, is_category, label_text
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.sqltext.templates import error_sql, sql_placeholder
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call


def source_check_values(function: str, source: Source) -> dict[str, object]:
    """What is said where a table is not the one that was planned with."""
    return {
        "bare": text(source.table.lower()) if source.bare else None,
        "changed": error_sql(errors.PolicyChangedError(function, source.shown)),
        "shadowed": error_sql(errors.ShadowedTableError(function, source.shown, str(source.sql))),
    }


def shared_columns(
    function: str, release: Source, source: Source, declared: Sequence[DeclaredColumn], requested: Sequence[str] | None
) -> dict[str, Sql]:
    """Return the columns of the queries: as the source spells them, and SQL for what the release has instead.

    Those that the call names must be in both; of the declared quasi-identifiers those that were released count.
    """
    parameter = "dbanon.policy" if requested is None else "qi"
    if requested is None:
        for row in declared:
            if row.role.lower() not in ROLES:
                raise errors.UnknownRoleError(source.shown, row.column, row.role, ROLES)
        names = [row.column for row in declared if row.role.lower() == "quasi"]
        order = [name.lower() for name in source.columns]
        names.sort(key=lambda name: order.index(name.lower()) if name.lower() in order else -1)
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


def release_value(release: Source, column: str) -> Sql | None:
    """A column of the release, or the struct of its typed bounds, age_min and age_max; None where it has neither."""
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
    """(hierarchy, how the call named it) of the columns that have one; `other_columns`: columns that may have one,
    too."""
    spelled = {name.lower(): name for name in (*columns, *other_columns)}
    hierarchies: dict[str, tuple[str, str | None]] = {
        spelled[row.column.lower()]: (row.settings.hierarchy, None)
        for row in declared
        if row.settings.hierarchy and row.column.lower() in spelled
    }
    for key, name in options.per_column("hierarchies").items():
        if key.lower() not in spelled:
            source.column(function, key, "hierarchies")
            reason = "it is not a quasi-identifier that release and source share."
            raise errors.UnsupportedSettingError(function, "hierarchies", source.shown, key, reason)
        hierarchies[spelled[key.lower()]] = (name, name)
    return hierarchies


_PARSABLE_VALUES = {
    "number": "25, [25, 29], <=18, >=90, [85, >=90]",
    "moment": "2020-01-31, [2020-01-01, 2020-01-31], 2020-01, 2020-Q1, [1926, 1934], and the same of times",
    "node": "nodes of its hierarchy",
    "flat": "values of the source, masks and intervals of them",
}


@dataclass(frozen=True)
class PairSpec:
    """A column of a raw table beside what a release has of it.

    `hierarchy` is what `hierarchies` gives; `raw` and `told` are the relations of the raw values (v_i, records) and the
    published texts (p_i). `home` is the source whose hierarchies count where the raw table is another one of such
    people: one that may have values which are in no hierarchy, or lack values that were published.
    """

    index: int
    column: str
    published_value: Sql
    hierarchy: tuple[str, str | None] | None
    source_cells: str = "true_cells"
    published_cells: str = "told_cells"
    hierarchy_source: Source | None = None


@dataclass(frozen=True)
class NumericReading:
    """How a column is read as numbers, if it is one of them, and how published ends are.

    Whole numbers, days, microseconds are counted (`step` 1); fractions are measured (0). `unit` is the microseconds of
    a step of time, `last` how many of them after its begin a published day ends; `through` is the type by which a
    number's text becomes a DOUBLE.
    """

    value: Sql
    step: int = 1
    is_averaged: bool = False
    is_moment: bool = False
    text_type: Sql | None = None
    unit_us: int | None = None
    day_end: int | None = None


@dataclass(frozen=True, kw_only=True)
class PairedColumn(NumericReading):
    """A column of a raw table beside what a release has of it, as the templates see it: see `Pair` and `Reading`.

    `q` is the quasi-identifier that it stands for, `influence` its weight in the distortion; `is_numeric` says whether
    its type is one of numbers or times, `is_number` whether it is read so. `is_strange` is a column of other people.
    """

    i: int
    plain: str
    label: Sql
    published_value: Sql
    source_cells: Sql
    published_cells: Sql
    rows: Sql | None
    is_number: bool
    is_numeric: bool
    is_other_people: bool
    say: Mapping[str, Sql]
    qi_index: int | None = None
    influence: Sql | None = None


def pair_column(call: Call, release: Source, source: Source, pair: PairSpec) -> PairedColumn:
    """Return one column of both. Raises UnsupportedTypeError, UnknownHierarchyError."""
    function, column, hierarchy = call.function.name, pair.column, pair.hierarchy
    type_ = source.columns[column]
    kind = None if hierarchy else family(type_)[0]
    is_nested = type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION", "JSON", "VARIANT", "BLOB", "BIT"))
    if (kind is None and hierarchy is None and not is_category(type_)) or is_nested:
        raise errors.UnsupportedTypeError(function, source.shown, column, type_)
    name, requested = hierarchy or ("none", None)
    parsable_values, rows = "node" if hierarchy else "flat", None
    if kind is not None:
        reading = _numeric_reading(kind, type_, identifier(column))
        parsable_values = "moment" if kind in _TIME_FAMILIES else "number"
    else:
        rows = (
            hierarchy_sql.rows(resolve.sensitive_hierarchy(call, pair.hierarchy_source or source, column, name))
            if hierarchy
            else None
        )
        reading = NumericReading(Sql(f"{label_text(identifier(column), type_)} COLLATE POSIX"))
    unparsable_error = errors.UnparsablePublishedValueError(
        function, sql_placeholder("count(*)"), release.shown, column, _PARSABLE_VALUES[parsable_values]
    )
    say = {
        "no_values": error_sql(errors.ColumnAllNullError(function, source.shown, column)),
        "wild": error_sql(errors.NonFiniteValueError(function, source.shown, column, sql_placeholder("sum(records)"))),
        "unread": error_sql(unparsable_error),
    }
    return PairedColumn(
        i=pair.index,
        plain=column if pair.hierarchy_source is None else f"{identifier(column)} of others",
        label=text(column),
        published_value=pair.published_value,
        source_cells=Sql(pair.source_cells),
        published_cells=Sql(pair.published_cells),
        rows=rows,
        is_number=kind is not None,
        is_numeric=family(type_)[0] is not None,
        is_other_people=pair.hierarchy_source is not None,
        say=hierarchy_messages(source.shown, column, name if ";" not in name else "given as text", requested) | say,
        value=reading.value,
        step=reading.step,
        is_averaged=reading.is_averaged,
        is_moment=reading.is_moment,
        text_type=reading.text_type,
        unit_us=reading.unit_us,
        day_end=reading.day_end,
    )


_TIME_FAMILIES = ("date", "timestamp", "nanos", "time")


def _numeric_reading(kind: str, type_: str, name: Sql) -> NumericReading:
    """How numbers, dates or times are read."""
    if kind not in _TIME_FAMILIES:
        is_fractional = kind == "float" or family(type_)[1] > 0
        # A FLOAT's text is not that of the DOUBLE of the same value.
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
        value = f"CASE WHEN {stamp} IS NULL THEN NULL WHEN isfinite({stamp}) THEN {value} ELSE 'inf'::DOUBLE END"
    return NumericReading(Sql(value), is_moment=True, unit_us=unit_us, day_end=day_end)
