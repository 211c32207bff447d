"""Define the request of the release gate: the facts about a release that it may use, as plain values.

`dbanon.release.plan` makes it from the release spec. The gate imports nothing of the plan, of the resolved roles or of
the algorithms, so that an error there is not repeated in the gate.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.options import Options


@dataclass(frozen=True)
class StatedRoles:
    """The columns by role as the release states them; the gate compares them with the roles that it derives itself."""

    person: str | None
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]


@dataclass(frozen=True)
class ReleaseContext:
    """The properties of a release that do not concern single columns.

    Attributes:
        is_table: The source is a table, which can be read twice.
        input_order: The columns that give the arrival order of a stream.
        person_key: The columns that identify persons if there is no person column.
        has_withheld_records: Records of the source are withheld, as in a version after an erasure.
        has_noise: Noise is published instead of classes.
        is_single_table: The release has no related tables.
        view: The schema and name of the materialized view of this version, or None.
    """

    is_table: bool
    input_order: tuple[str, ...]
    person_key: tuple[str, ...]
    has_withheld_records: bool
    has_noise: bool
    is_single_table: bool
    view: tuple[str, str] | None


@dataclass(frozen=True)
class GateRequest:
    """The facts about a release that the gate may use to check it, as plain values.

    Attributes:
        function: The function that was called.
        algorithm: The name of the algorithm.
        kind: The requested result: release, classes, metrics, inference, influence or membership.
        table: The source as messages name it.
        columns: The type of every column of the source, in order.
        declared: The policy rows of the source.
        options: The parameters of the call.
        quasi_columns: The quasi-identifiers, in order.
        leaf_shapes: How the hierarchy of a quasi-identifier of numbers or truth values writes them, by column: its
            leaves with 0 in place of the sign and the digits before the point, and 1 in place of digits other than 0.
        roles: The other columns, by role.
        unchanged: The columns that are published without generalization, in the order of the source.
        transformed: The settings of each transformed column (pseudonym, mask or shifted date), as a SQL literal.
        context: The properties that do not concern single columns.
    """

    function: str
    algorithm: str
    kind: str
    table: str
    columns: Mapping[str, str]
    declared: Sequence[DeclaredColumn]
    options: Options
    quasi_columns: tuple[str, ...]
    leaf_shapes: Mapping[str, tuple[str, ...]]
    roles: StatedRoles
    unchanged: tuple[str, ...]
    transformed: Mapping[str, Sql]
    context: ReleaseContext


@dataclass(frozen=True)
class CheckedModel:
    """A privacy model other than k that the gate checks: number, parameter (such as l), and sensitive column."""

    number: int
    parameter: str
    column: str
