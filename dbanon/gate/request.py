"""The request of the release gate: what it is told of a release, as plain values.

`plan` makes it from the publication. The gate imports nothing of the plan, of the policy's resolved roles or of the
algorithms, so that a mistake of theirs is not one of the gate's.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dbanon.source.stored_policy import DeclaredColumn
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.options import Options


@dataclass(frozen=True)
class StatedRoles:
    """Columns by role as the release has resolved them: the gate compares them with the roles that it derives."""

    person: str | None
    sensitive: tuple[str, ...]
    insensitive: tuple[str, ...]


@dataclass(frozen=True)
class ReleaseContext:
    """How a release is made, apart from its columns.

    `is_table`: the source is a table, which can be read twice. `input_order` are the columns by which the records of a
    stream arrive. `person_key` are columns that distinguish persons where no column is the person.
    `has_withheld_records`: records of the source are withheld, as in a version after an erasure. `has_noise`: noise is
    published instead of classes. `is_single_table`: the release has no related tables. `view` is the schema and name of
    the materialized view that the release is a version of, or None.
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
    """A release that the gate has to check.

    Attributes:
        function: The function that was called.
        algorithm: The name of the algorithm.
        kind: What is asked for: release, classes, metrics, inference, influence or membership.
        table: The source as messages name it.
        columns: The type of every column of the source, in order.
        declared: The rows of the policy about the source.
        options: The parameters of the call.
        quasi_columns: The quasi-identifiers, in order.
        roles: The other columns by role.
        unchanged: The columns that are published without being generalized, in the order of the source.
        transformed: Of columns that are published as a pseudonym, mask or shifted date, the settings as SQL text.
        context: How the release is made.
    """

    function: str
    algorithm: str
    kind: str
    table: str
    columns: Mapping[str, str]
    declared: Sequence[DeclaredColumn]
    options: Options
    quasi_columns: tuple[str, ...]
    roles: StatedRoles
    unchanged: tuple[str, ...]
    transformed: Mapping[str, Sql]
    context: ReleaseContext


@dataclass(frozen=True)
class CheckedModel:
    """A privacy model that the gate checks: its number, the parameter that asks for it, and its sensitive column."""

    number: int
    parameter: str
    column: str
