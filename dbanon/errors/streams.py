"""Errors about streaming anonymized views and their sources."""

from collections.abc import Iterable, Mapping

from dbanon.errors.base import DbanonError, RefusedError, UsageError, did_you_mean, format_names
from dbanon.errors.example import FEW, Example, Situation

_CALL = "fads('few', k = 5, delta = 50, order_by = 'patient_number', qi = ['sex', 'zip'], sensitive = ['disease'])"

_GROWS = (FEW, f"CREATE STREAMING ANONYMIZED VIEW visits AS SELECT * FROM {_CALL};")

_REFRESH = "REFRESH STREAMING ANONYMIZED VIEW visits;"


class StreamAlgorithmNotAllowedError(UsageError):
    """A stream algorithm where an algorithm for tables is expected."""

    message = (
        "{function}: {name} is a stream system, which publishes record by record. Hint: FROM {name}('table', k = 10, "
        "delta = 1000, order_by = 'ts') replays a table, {name}_metrics and compare measure the result, and CREATE "
        "STREAMING ANONYMIZED VIEW publishes a table as it grows."
    )
    example = Example("FROM tradeoffs('patients', k = [10], algorithms = ['kacpc', 'fads']);")


class HierarchyNodeRemovedError(DbanonError):
    """A hierarchy from which a node was removed that a stream still uses."""

    example = Situation(
        "It is raised if a hierarchy was loaded again without a node of a class that may be published again or of a "
        "pending record.",
        ("fads", "Boston"),
    )

    def __init__(self, function: str, node: str) -> None:
        """Build the message, and store `node`, the name of the missing node, as an attribute."""
        super().__init__(
            f"{function}: the stream continues from classes at a node that its hierarchies do not have any more. "
            "Nothing was published. Hint: nodes may be added but not removed; load the hierarchy with the nodes that "
            "it had."
        )
        self.node = node


class SourceNotAppendOnlyError(RefusedError):
    """A source whose rows were changed or deleted after a stream had read them."""

    message = (
        "refresh_stream: {source} {why} since {view} read it, but rows may only be added to it: a row that is read "
        "twice would be published twice. Nothing was published. Hint: restore these rows; use allow_deleted_rows = "
        "true if published rows were deleted on purpose; or start another stream, whose classes readers can compare "
        "with those of this one."
    )
    example = Example(_REFRESH, (*_GROWS, "DELETE FROM few WHERE patient_number = 100007;"))


class StreamSourceNotATableError(DbanonError):
    """A streaming view over something other than a table."""

    message = (
        "CREATE STREAMING ANONYMIZED VIEW {view}: {source} {why}, and new records can be recognized only by the row "
        "numbers of a table. Hint: INSERT the records into a table, and name that."
    )
    example = Example(
        f"CREATE STREAMING ANONYMIZED VIEW visits AS SELECT * FROM {_CALL.replace('few', 'some_of_them')};",
        (FEW, "CREATE VIEW some_of_them AS FROM few;"),
    )


class PrunedWithoutOrderError(RefusedError):
    """A source with deleted rows whose order_by does not identify the new rows."""

    message = (
        "refresh_stream: allow_deleted_rows = true reads the rows that follow all others in the order_by of {view} "
        "({order_by:list}), because DuckDB reuses the row ids of deleted rows; but in {source} {why}. Nothing was "
        "published. Hint: order a stream by a column that only grows, such as a sequence or the time of insertion. "
        "{view} can continue if you move the unread rows to another table, delete the published rows, refresh with "
        "allow_deleted_rows = true, insert the moved rows, and refresh without it."
    )
    example = Example(
        "REFRESH STREAMING ANONYMIZED VIEW visits WITH (allow_deleted_rows = true);",
        (*_GROWS, "INSERT INTO few SELECT * REPLACE (100000 AS patient_number) FROM few LIMIT 1;"),
    )


class CannotCheckRareValuesError(DbanonError):
    """An unchanged column of a streaming view whose rare values cannot be known yet."""

    example = Example(
        f"CREATE STREAMING ANONYMIZED VIEW visits AS SELECT * FROM {_CALL[:-1]}, insensitive = ['occupation']);", (FEW,)
    )

    def __init__(self, view: str, source: str, columns: Iterable[str]) -> None:
        """Build the message; `columns` would be published unchanged, and the hint withholds them."""
        names = list(columns)
        super().__init__(
            f"CREATE STREAMING ANONYMIZED VIEW {view}: {format_names(names)} of {source} would be published "
            "unchanged, but rare values (of fewer than k records) cannot be found before the stream ends. Hint: "
            f"withhold = [{', '.join(repr(n) for n in names)}], or allow_rare with these names if no value identifies "
            "a person."
        )


class StreamRolesChangedError(DbanonError):
    """A streaming view whose call would now publish other columns."""

    message = (
        "refresh_stream: {view} publishes its columns with the roles that they had when it was created, and roles "
        "have changed since: {changes:list}. Nothing was published. Hint: declare the earlier roles, or drop {view} "
        "and create it again."
    )
    example = Example(
        _REFRESH,
        (
            FEW,
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi'), "
            "('few', 'zip', 'quasi');",
            "CREATE STREAMING ANONYMIZED VIEW visits AS "
            "SELECT * FROM fads('few', k = 5, delta = 50, order_by = 'patient_number');",
            "DELETE FROM dbanon.policy WHERE (table_name, column_name) = ('few', 'sex');",
        ),
    )


class UnreadableLinesError(DbanonError):
    """Lines of a pipe that differ from the format or the types of the first lines."""

    example = Situation(
        "It is raised by `dbanon stream --from` if lines are not NDJSON or CSV, or if values of a column have a "
        "different type than in the first lines, such as `30.5` after whole numbers.",
        ("ndjson", 101, {"age": "int64", "city": "string"}),
    )

    def __init__(self, format_: str, line: int, types: Mapping[str, object] | None) -> None:
        """Build the message.

        Args:
            format_: The expected format, "ndjson" or "csv".
            line: The number of the first line of the piece of input that cannot be read.
            types: The types of the columns by the first lines; None if these could not be read either.
        """
        columns_text = "" if types is None else f" with the columns {', '.join(f'{n} ({t})' for n, t in types.items())}"
        hint = "" if types is None else " Hint: --types states the type of a column if the first lines do not show it."
        super().__init__(f"stream: lines cannot be read from line {line} on as {format_}{columns_text}.{hint}")


class OverlappingStreamError(RefusedError):
    """A release with composition = 'refuse', of people that a streaming view published."""

    message = (
        "{name}: composition = 'refuse', but a stream published the same people: {streams:list}. Its classes are not "
        "compared with those of releases. Hint: composition = 'warn' publishes in addition to it."
    )
    example = Example(
        "CREATE MATERIALIZED ANONYMIZED VIEW safe_few WITH (composition = 'refuse') AS "
        "SELECT * FROM kacpc('few', k = 5, qi = ['sex']);",
        _GROWS,
    )


class StreamRefusedError(RefusedError):
    """A streaming view of people in releases that were created with composition = 'refuse'."""

    message = (
        "{name}: {releases:list} published the same people with composition = 'refuse', and a stream is not checked "
        "against releases. Nothing was changed. Hint: use forget_release for versions that no reader has any more, or "
        "create the release again with composition = 'warn'."
    )
    example = Example(
        "CREATE STREAMING ANONYMIZED VIEW arrivals AS "
        "SELECT * FROM fads('few', k = 5, delta = 50, order_by = 'patient_number');",
        (
            FEW,
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES ('few', 'sex', 'quasi');",
            "CREATE MATERIALIZED ANONYMIZED VIEW safe_few WITH (composition = 'refuse') AS "
            "SELECT * FROM kacpc('few', k = 5, qi = ['sex']);",
        ),
    )


class UnknownStreamError(DbanonError):
    """A name of no streaming view."""

    example = Example("REFRESH STREAMING ANONYMIZED VIEW vists;", _GROWS)

    def __init__(self, function: str, name: str, streams: Iterable[str]) -> None:
        """Build the message, with the most similar of the names `streams` as a hint."""
        super().__init__(f"{function}: there is no streaming view {name}.{did_you_mean(name, streams)}")
