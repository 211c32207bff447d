"""What one validated call publishes: its source, the roles of the columns, the models, what the algorithm is given."""

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
    """Which records are left out before anything else: those beyond `bounds`, the ends of columns as SQL, and, where
    `distinct`, duplicates."""

    bounds: Mapping[str, tuple[Sql, Sql]] = field(default_factory=dict)
    distinct: bool = False

    @property
    def description(self) -> str:
        """What is left, in words."""
        return " and ".join(["within bounds"] * bool(self.bounds) + ["without duplicates"] * self.distinct)


@dataclass(frozen=True)
class RunSettings:
    """What one run of the algorithm is given beside codes.

    `options` are those of the algorithm alone; it looks at `sensitive` values, whatever the models, and at the
    `magnitudes` of numbers; `forest` is the influence that is asked for (None: none). `widens` says whether clusters
    are published with more than their records span, `noise` what is published instead of classes (None: classes are).
    Where it is `maybe`, NULL may stand among values.
    `levels`: it raises columns by levels, which numbers have none of unless they are built.
    Beside the share `suppress` at most `most_suppressed` records are left out (None: that share alone says it).
    `session` is the token of the session that the run reports to.
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
    """Constraints that a version inherits from its view and earlier versions.

    `view` is the schema and name of the view (None: of no view). `key` are columns that distinguish people where no
    column is the person; `keep` is the membership of a version whose records stay in their classes. `held` are members
    that are held back since an erasure; where nobody new is published, `only` are those who stay. `waits` are members
    that came and wait until enough have come.
    """

    person_key: tuple[str, ...] = ()
    kept_members: Sql | None = None
    withheld_members: Sql | None = None
    remaining_members: Sql | None = None
    deferred_members: Sql | None = None
    view: tuple[str, str] | None = None

    @property
    def has_withheld_records(self) -> bool:
        """Whether records of the source are held back."""
        return (
            self.withheld_members is not None or self.remaining_members is not None or self.deferred_members is not None
        )


@dataclass(frozen=True)
class WholeTable:
    """The larger table that a source is a part of: by quasi-identifier and by sensitive column a relation of its
    values, those of sensitive columns with `size`, how many records (persons) have them; and all its `records`."""

    quasi: tuple[Sql, ...]
    sensitive: tuple[Sql, ...]
    size: Sql
    n_records: int


@dataclass(frozen=True)
class SourceReading:
    """How the records of the source are read.

    `missing` are codes that are read as NULL, by column, as SQL values. `order` are the columns by which the records of
    a stream arrive; a table has none. `weight` is the column that says how many records a row of the source stands for
    (None: each for one), `larger` the table that the source is a part of.
    """

    missing_codes: Mapping[str, Sequence[Sql]] = field(default_factory=dict)
    order_columns: tuple[str, ...] = ()
    weight: Sql | None = None
    whole_table: WholeTable | None = None


@dataclass(frozen=True)
class ReleaseSpec:
    """What is asked of which columns of which source.

    `kind` is release, classes, metrics, inference, influence or membership; `demands` are models of the sensitive
    columns and `orders` hierarchies of these, by column; `policy` is what was declared when the call was planned.
    `made` are the columns that are published as something made of them. A table that is not `alone` is one of a release
    of several, whose own gate counts people by their key.
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
        """The columns whose pseudonyms show which rows belong together, of one person as a rule."""
        return tuple(name for name, of in self.transformed.items() if of.role == "pseudonym")

    @property
    def unchanged(self) -> tuple[str, ...]:
        """The columns that leave without being generalized, in the table's order."""
        names = {*self.roles.sensitive, *self.roles.other, *self.transformed}
        return tuple(name for name in self.source.columns if name in names)

    def column_sql(self, column: str) -> Sql:
        """Return a column of the source as it is read: NULL in place of codes for missing values."""
        return missing_codes.column_without_codes(
            column, self.source.columns[column], self.reading.missing_codes.get(column, ())
        )

    @property
    def cleaned_source(self) -> Source:
        """The source such that its `rows` are read so."""
        return replace(
            self.source,
            cleaned=missing_codes.select_without_codes(
                self.source.read, self.source.columns, self.reading.missing_codes
            ),
        )

    @property
    def k(self) -> int:
        """Least number of records (persons) of a class."""
        return int(self.options["k"])

    @property
    def is_joint(self) -> bool:
        """Whether models hold within equal values of the other sensitive columns."""
        return self.options.text("multi") == "joint"

    @property
    def interval_format(self) -> str:
        """The form in which numbers are published: text, bounds or struct."""
        return str(self.options["intervals"])

    @property
    def uses_sensitive(self) -> bool:
        """Whether models or the algorithm look at sensitive values."""
        return bool(self.model_requirements) or self.run.reads_sensitive

    def with_options(self, **changes: object) -> ReleaseSpec:
        """Return it with other values of options that neither columns nor models depend on."""
        return replace(self, options=Options({**self.options, **changes}))

    def with_version_constraints(self, **changes: object) -> ReleaseSpec:
        """Return the same with other fields of its continuity."""
        return replace(self, version_constraints=replace(self.version_constraints, **changes))  # type: ignore[arg-type]
