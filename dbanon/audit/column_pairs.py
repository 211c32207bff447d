"""A release beside a raw table: the columns they share, and how values of both are read as numbers and intervals."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.column_names.hints import suggested_quasi_identifier
from dbanon.policy.column_roles import ROLES
from dbanon.policy.hierarchies import hierarchy_sql
from dbanon.policy.hierarchies.messages import tree_messages
from dbanon.release.spec import resolve
from dbanon.source.catalog import Source
from dbanon.source.column_types import family, is_category, label_text
from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql, identifier, text
from dbanon.sqltext.templates import error_sql, sql_placeholder
from dbanon.table_functions.options import Options
from dbanon.table_functions.table_function import Call


def stands(function: str, source: Source) -> dict[str, object]:
    """What is said where a table is not the one that was planned with."""
    return {
        "bare": text(source.table.lower()) if source.bare else None,
        "changed": error_sql(errors.PolicyChangedError(function, source.shown)),
        "shadowed": error_sql(errors.ShadowedTableError(function, source.shown, str(source.sql))),
    }


def columns(
    function: str, release: Source, source: Source, declared: Sequence[DeclaredColumn], given: Sequence[str] | None
) -> dict[str, Sql]:
    """Return the columns of the queries: as the source spells them, and SQL for what the release has instead.

    Those that the call names must be in both; of the declared quasi-identifiers those that were released count.
    """
    where = "dbanon.policy" if given is None else "qi"
    if given is None:
        for row in declared:
            if row.role.lower() not in ROLES:
                raise errors.UnknownRoleError(source.shown, row.column, row.role, ROLES)
        names = [row.column for row in declared if row.role.lower() == "quasi"]
        order = [name.lower() for name in source.columns]
        names.sort(key=lambda name: order.index(name.lower()) if name.lower() in order else -1)
    else:
        names = list(given)
    if not names:
        raise errors.PolicyMissingError(function, source.shown, suggested_quasi_identifier(source.columns))
    shared: dict[str, Sql] = {}
    for name in names:
        column = source.column(function, name, where)
        if column in shared:
            raise errors.ConflictingRolesError(function, source.shown, column, ("quasi", "quasi"))
        published = published_as(release, column)
        if published is None and given is not None:
            raise errors.UnknownColumnError(function, release.shown, name, where, release.columns)
        if published is not None:
            shared[column] = published
    if not shared:
        raise errors.NoCommonQuasiIdentifiersError(function, release.shown, source.shown, names)
    return shared


def published_as(release: Source, column: str) -> Sql | None:
    """A column of the release, or the struct of its typed bounds, age_min and age_max; None where it has neither."""
    whole, low, high = (release.spelled(name) for name in (column, f"{column}_min", f"{column}_max"))
    if whole is not None:
        return identifier(whole)
    if low is None or high is None:
        return None
    ends = f"{{'low': {identifier(low)}, 'high': {identifier(high)}}}"
    return Sql(f"CASE WHEN {identifier(low)} IS NOT NULL THEN {ends} END")


def hierarchies(
    function: str,
    source: Source,
    columns: Mapping[str, Sql],
    declared: Sequence[DeclaredColumn],
    options: Options,
    others: Collection[str] = (),
) -> dict[str, tuple[str, str | None]]:
    """(hierarchy, how the call named it) of the columns that have one; `others`: columns that may have one, too."""
    spelled = {name.lower(): name for name in (*columns, *others)}
    chosen: dict[str, tuple[str, str | None]] = {
        spelled[row.column.lower()]: (row.settings.hierarchy, None)
        for row in declared
        if row.settings.hierarchy and row.column.lower() in spelled
    }
    for key, name in options.per_column("hierarchies").items():
        if key.lower() not in spelled:
            source.column(function, key, "hierarchies")
            why = "it is not a quasi-identifier that release and source share."
            raise errors.UnsupportedSettingError(function, "hierarchies", source.shown, key, why)
        chosen[spelled[key.lower()]] = (name, name)
    return chosen


_FORMS = {
    "number": "25, [25, 29], <=18, >=90, [85, >=90]",
    "moment": "2020-01-31, [2020-01-01, 2020-01-31], 2020-01, 2020-Q1, [1926, 1934], and the same of times",
    "node": "nodes of its hierarchy",
    "flat": "values of the source, masks and intervals of them",
}


@dataclass(frozen=True)
class Pair:
    """A column of a raw table beside what a release has of it.

    `hierarchy` is what `hierarchies` gives; `raw` and `told` are the relations of the raw values (v_i, records) and the
    published texts (p_i). `home` is the source whose hierarchies count where the raw table is another one of such
    people: one that may have values which are in no hierarchy, or lack values that were published.
    """

    i: int
    column: str
    published: Sql
    hierarchy: tuple[str, str | None] | None
    raw: str = "true_cells"
    told: str = "told_cells"
    home: Source | None = None


@dataclass(frozen=True)
class Reading:
    """How a column is read as numbers, if it is one of them, and how published ends are.

    Whole numbers, days, microseconds are counted (`step` 1); fractions are measured (0). `unit` is the microseconds of
    a step of time, `last` how many of them after its begin a published day ends; `through` is the type by which a
    number's text becomes a DOUBLE.
    """

    value: Sql
    step: int = 1
    averages: bool = False
    is_moment: bool = False
    through: Sql | None = None
    unit: int | None = None
    last: int | None = None


@dataclass(frozen=True, kw_only=True)
class PairedColumn(Reading):
    """A column of a raw table beside what a release has of it, as the templates see it: see `Pair` and `Reading`.

    `q` is the quasi-identifier that it stands for, `influence` its weight in the distortion; `is_numeric` says whether
    its type is one of numbers or times, `is_number` whether it is read so. `is_strange` is a column of other people.
    """

    i: int
    plain: str
    label: Sql
    published: Sql
    raw: Sql
    told: Sql
    rows: Sql | None
    is_number: bool
    is_numeric: bool
    is_strange: bool
    say: Mapping[str, Sql]
    q: int | None = None
    influence: Sql | None = None


def attribute(call: Call, release: Source, source: Source, pair: Pair) -> PairedColumn:
    """Return one column of both. Raises UnsupportedTypeError, UnknownHierarchyError."""
    function, column, hierarchy = call.function.name, pair.column, pair.hierarchy
    type_ = source.columns[column]
    kind = None if hierarchy else family(type_)[0]
    nested = type_.endswith("]") or type_.startswith(("STRUCT", "MAP", "UNION", "JSON", "VARIANT", "BLOB", "BIT"))
    if (kind is None and hierarchy is None and not is_category(type_)) or nested:
        raise errors.UnsupportedTypeError(function, source.shown, column, type_)
    name, given = hierarchy or ("none", None)
    forms, rows = "node" if hierarchy else "flat", None
    if kind is not None:
        reading = _number(kind, type_, identifier(column))
        forms = "moment" if kind in _TIMES else "number"
    else:
        rows = (
            hierarchy_sql.rows(resolve.sensitive_hierarchy(call, pair.home or source, column, name))
            if hierarchy
            else None
        )
        reading = Reading(Sql(f"{label_text(identifier(column), type_)} COLLATE POSIX"))
    unread = errors.UnparsablePublishedValueError(
        function, sql_placeholder("count(*)"), release.shown, column, _FORMS[forms]
    )
    say = {
        "no_values": error_sql(errors.ColumnAllNullError(function, source.shown, column)),
        "wild": error_sql(errors.NonFiniteValueError(function, source.shown, column, sql_placeholder("sum(records)"))),
        "unread": error_sql(unread),
    }
    return PairedColumn(
        i=pair.i,
        plain=column if pair.home is None else f"{identifier(column)} of others",
        label=text(column),
        published=pair.published,
        raw=Sql(pair.raw),
        told=Sql(pair.told),
        rows=rows,
        is_number=kind is not None,
        is_numeric=family(type_)[0] is not None,
        is_strange=pair.home is not None,
        say=tree_messages(source.shown, column, name if ";" not in name else "given as text", given) | say,
        value=reading.value,
        step=reading.step,
        averages=reading.averages,
        is_moment=reading.is_moment,
        through=reading.through,
        unit=reading.unit,
        last=reading.last,
    )


_TIMES = ("date", "timestamp", "nanos", "time")


def _number(kind: str, type_: str, name: Sql) -> Reading:
    """How numbers, dates or times are read."""
    if kind not in _TIMES:
        fraction = kind == "float" or family(type_)[1] > 0
        # A FLOAT's text is not that of the DOUBLE of the same value.
        through = Sql("FLOAT" if type_ == "FLOAT" else "DOUBLE")
        return Reading(Sql(f"({name}::DOUBLE + 0)"), 0 if fraction else 1, averages=True, through=through)
    stamp = f"({name} AT TIME ZONE 'UTC')" if type_ == "TIMESTAMP WITH TIME ZONE" else str(name)
    if kind == "date":
        value, unit, last = f"({stamp} - DATE '1970-01-01')::DOUBLE", 86_400_000_000, 0
    else:
        value, unit, last = f"epoch_us({stamp}{'::TIMESTAMP' if kind == 'nanos' else ''})::DOUBLE", 1, 86_399_999_999
    if kind != "time":
        value = f"CASE WHEN {stamp} IS NULL THEN NULL WHEN isfinite({stamp}) THEN {value} ELSE 'inf'::DOUBLE END"
    return Reading(Sql(value), is_moment=True, unit=unit, last=last)
