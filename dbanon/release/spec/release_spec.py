"""Define the release spec: everything that a release follows from, resolved from one validated call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dbanon.algorithms import Noise
from dbanon.algorithms.influence_forest import ForestRequest
from dbanon.policy.attribute import Attribute
from dbanon.policy.column_roles import Roles
from dbanon.policy.hierarchies.storage import Hierarchy
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.release.spec.transformed_columns import TransformedColumn
from dbanon.source import missing_codes
from dbanon.source.catalog import Source
from dbanon.source.stored_policy import Policy
from dbanon.sqltext.quote import Sql
from dbanon.table_functions.options import Options


@dataclass(frozen=True)
class Preprocessing:
    """The records that an algorithm drops before it forms clusters.

    Attributes:
        bounds: By column: the least and greatest value that is kept, as SQL; records outside are dropped.
        distinct: Duplicates are dropped.
    """

    bounds: Mapping[str, tuple[Sql, Sql]] = field(default_factory=dict)
    distinct: bool = False

    @property
    def description(self) -> str:
        """The records that remain after preprocessing in words, for messages; "" if none are dropped."""
        return " and ".join(["within bounds"] * bool(self.bounds) + ["without duplicates"] * self.distinct)


@dataclass(frozen=True)
class RunSettings:
    """The settings of one run of an algorithm, in addition to the codes of the records.

    Attributes:
        options: The parameters of the algorithm itself.
        reads_sensitive: The algorithm reads sensitive values, even without a privacy model.
        reads_magnitudes: The algorithm reads the values of numbers, not only their codes.
        forest: The request for influence weights; None if they are not used.
        widens_classes: Classes are published wider than their records span.
        maybe_match: NULL may occur among the values of a class (stream algorithms).
        max_suppressed: The greatest number of suppressed records, in addition to the share `suppress`; None if only the
            share limits it.
        builds_levels: The algorithm raises columns by hierarchy levels, which are built for numbers.
        noise: The noise that is published instead of classes, or None.
        preprocessing: The records that are dropped before.
        session: The token of the session to which the run reports its progress.
    """

    options: Mapping[str, object] = field(default_factory=dict)
    reads_sensitive: bool = False
    reads_magnitudes: bool = False
    forest: ForestRequest | None = None
    widens_classes: bool = False
    maybe_match: bool = False
    max_suppressed: int | None = None
    builds_levels: bool = False
    noise: Noise | None = None
    preprocessing: Preprocessing = field(default_factory=Preprocessing)
    session: str = ""


@dataclass(frozen=True)
class VersionConstraints:
    """Constraints that a version of a view inherits from the view and from earlier versions.

    Membership relations have the columns person_key, row_hash and records; `kept_members` also has cluster_id.

    Attributes:
        person_key: The columns that identify persons if no column has the role of the person.
        kept_members: The membership of a version whose records stay in their classes.
        withheld_members: Members that are withheld since an erasure.
        remaining_members: The only members that may be published, if no new record may be.
        deferred_members: New members that are deferred until they can form a class.
        view: The schema and name of the view; None if the release is no version of a view.
    """

    person_key: tuple[str, ...] = ()
    kept_members: Sql | None = None
    withheld_members: Sql | None = None
    remaining_members: Sql | None = None
    deferred_members: Sql | None = None
    view: tuple[str, str] | None = None

    @property
    def has_withheld_records(self) -> bool:
        """Whether records of the source are withheld or deferred."""
        return (
            self.withheld_members is not None or self.remaining_members is not None or self.deferred_members is not None
        )


@dataclass(frozen=True)
class WholeTable:
    """The whole table, if the source is a part of it.

    Attributes:
        quasi: One relation of distinct values per quasi-identifier.
        sensitive: One relation per sensitive column, with its distinct values and the column `size`.
        size: The column with the number of records (persons) that have a value.
        n_records: The number of records of the whole table.
    """

    quasi: tuple[Sql, ...]
    sensitive: tuple[Sql, ...]
    size: Sql
    n_records: int


@dataclass(frozen=True)
class SourceReading:
    """The way in which the records of the source are read.

    Attributes:
        missing_codes: By column: the codes that are read as NULL, as SQL values.
        order_columns: The columns that give the arrival order of a stream; empty for a table.
        weight: The column with the number of records that one row of the source represents; None if each row is one
            record.
        whole_table: The table that the source is a part of, or None.
    """

    missing_codes: Mapping[str, Sequence[Sql]] = field(default_factory=dict)
    order_columns: tuple[str, ...] = ()
    weight: Sql | None = None
    whole_table: WholeTable | None = None


@dataclass(frozen=True)
class ReleaseSpec:
    """A release spec: what a call publishes of which columns of which source.

    Attributes:
        function: The called function.
        algorithm: The name of the algorithm.
        kind: The requested result: release, classes, metrics, inference, influence or membership.
        source: The source.
        policy: The policy at the time of the call.
        roles: The roles of the columns.
        attributes: The quasi-identifiers.
        options: The parameters of the call.
        model_requirements: The privacy models of the sensitive columns.
        sensitive_hierarchies: The hierarchies of sensitive columns, by column.
        reading: How the source is read.
        run: The settings of the run of the algorithm.
        version_constraints: The constraints of the view and of earlier versions.
        transformed: The transformed columns (pseudonyms, masks, shifted dates), by name.
        is_single_table: The release has no related tables. Otherwise the gate of all tables counts persons by their
            key.
    """

    function: str
    algorithm: str
    kind: str
    source: Source
    policy: Policy
    roles: Roles
    attributes: tuple[Attribute, ...]
    options: Options
    model_requirements: tuple[ModelRequirement, ...]
    sensitive_hierarchies: Mapping[str, Hierarchy]
    reading: SourceReading = field(default_factory=SourceReading)
    run: RunSettings = field(default_factory=RunSettings)
    version_constraints: VersionConstraints = field(default_factory=VersionConstraints)
    transformed: Mapping[str, TransformedColumn] = field(default_factory=dict)
    is_single_table: bool = True

    @property
    def pseudonym_columns(self) -> tuple[str, ...]:
        """The names of the columns that are published as pseudonyms.

        Rows with equal pseudonyms are linked: readers know that they are about one person or thing.
        """
        return tuple(name for name, column in self.transformed.items() if column.role == "pseudonym")

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The names of the columns published without generalization, in table order.

        Besides insensitive columns they include sensitive and transformed ones (pseudonyms, masks, shifted dates).
        """
        names = {*self.roles.sensitive, *self.roles.insensitive, *self.transformed}
        return tuple(name for name in self.source.columns if name in names)

    def column_sql(self, column: str) -> Sql:
        """Return SQL of a source column (unquoted name) with NULL in place of codes for missing values."""
        return missing_codes.column_without_codes(
            column, self.source.columns[column], self.reading.missing_codes.get(column, ())
        )

    @property
    def cleaned_source(self) -> Source:
        """A copy of the source whose `rows` have NULL in place of codes for missing values."""
        return replace(
            self.source,
            cleaned=missing_codes.select_without_codes(
                self.source.read, self.source.columns, self.reading.missing_codes
            ),
        )

    @property
    def k(self) -> int:
        """The least number of records (persons) of a class."""
        return int(self.options["k"])

    @property
    def is_joint(self) -> bool:
        """Whether privacy models other than k must hold within equal values of the other sensitive columns."""
        return self.options.text("multi_sensitive") == "joint"

    @property
    def interval_format(self) -> str:
        """The format of published intervals: text, bounds or struct."""
        return str(self.options["intervals"])

    @property
    def uses_sensitive(self) -> bool:
        """Whether a privacy model other than k, or the algorithm, reads sensitive values."""
        return bool(self.model_requirements) or self.run.reads_sensitive

    def with_options(self, **changes: object) -> ReleaseSpec:
        """Return a copy with some options replaced; columns and privacy models are not resolved again."""
        return replace(self, options=Options({**self.options, **changes}))

    def with_version_constraints(self, **changes: object) -> ReleaseSpec:
        """Return a copy of the spec with some fields of `version_constraints` replaced by the given values."""
        return replace(self, version_constraints=replace(self.version_constraints, **changes))  # type: ignore[arg-type]
