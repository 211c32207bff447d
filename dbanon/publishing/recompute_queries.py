"""Plain SQL that recomputes the metrics of a release from its published tables; any DuckDB runs it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from dbanon.privacy_models import registry
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.release.spec.published_columns import class_column_kinds
from dbanon.source.column_types import has_equal_texts
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.sqltext.templates import fill

Columns = Sequence[tuple[str, str]]
"""Names and types."""


@dataclass(frozen=True)
class ReleaseColumns:
    """The columns of a release and of its table of classes, by role.

    Attributes:
        quasi: The published quasi-identifiers, with their types.
        sensitive: The sensitive columns, with their types.
        other: The other columns that are not generalized: insensitive ones, masks and shifted dates.
        pseudonyms: The columns with pseudonyms, with their types.
        class_id: The name of the column with the number of the class.
        size: The name of the column of the classes with their number of records.
        persons: The name of the column of the classes with their number of distinct persons; None if persons are not
            counted.
        loss: The name of the column of the classes with their loss.
        suppressed: The name of the column of the classes with the reason why records were suppressed; None if the call
            did not allow to suppress outliers.
    """

    quasi: Columns
    sensitive: Columns
    other: Columns
    pseudonyms: Columns
    class_id: str
    size: str
    persons: str | None
    loss: str
    suppressed: str | None
    person_link: str | None = None
    """The published pseudonym of the person column, by which a recipient counts persons."""

    @property
    def unchanged(self) -> Columns:
        """The sensitive and the other columns that are not generalized, as (name, type) pairs; no pseudonyms."""
        return [*self.sensitive, *self.other]

    @property
    def column_names(self) -> set[str]:
        """The names of all columns of the release, without those that only the table of classes has."""
        return {n for n, _ in (*self.quasi, *self.unchanged, *self.pseudonyms)} | {self.class_id}


def release_columns(
    classes: Mapping[str, str], release: Mapping[str, str], roles: Mapping[str, str], suppress: bool
) -> ReleaseColumns:
    """Return the columns of a release by role.

    Args:
        classes: The columns of the table of classes (type by name), in their order.
        release: The columns of the release (type by name).
        roles: The roles of the source's columns in the ledger.
        suppress: Whether the call allowed to suppress outliers.
    """
    by_person = bool({"person", "pseudonym"} & set(roles.values()))
    sensitive = [n for n, role in roles.items() if role == "sensitive"]
    others = len(class_column_kinds(0, len(sensitive), with_persons=by_person, with_suppressed=suppress))
    order = class_column_kinds(len(classes) - others, len(sensitive), with_persons=by_person, with_suppressed=suppress)
    columns: dict[str, list[tuple[str, str]]] = {}
    for kind, column in zip(order, classes.items(), strict=True):
        columns.setdefault(kind, []).append(column)
    (class_id, _), (size, _), (loss, _) = (columns[kind][0] for kind in ("class_id", "size", "loss"))
    return ReleaseColumns(
        quasi=columns["quasi"],
        sensitive=[(n, release.get(n, "VARCHAR")) for n in sensitive],
        other=[(n, release.get(n, "VARCHAR")) for n, role in roles.items() if role in ("insensitive", "mask", "shift")],
        pseudonyms=[(n, release.get(n, "VARCHAR")) for n, role in roles.items() if role == "pseudonym"],
        class_id=class_id,
        size=size,
        persons=columns["persons"][0][0] if by_person else None,
        loss=loss,
        suppressed=columns["suppressed"][0][0] if suppress else None,
    )


@dataclass(frozen=True)
class TableLocations:
    """The names of a release's tables as one reader writes them; None for a table that the reader does not have.

    Attributes:
        release: The released rows.
        metrics: The metrics.
        classes: The classes.
        members: A subquery for the version's rows of dbanon.membership: the class of each source record.
        class_sizes: A relation with the rows of `RecomputeQueries.class_sizes`, where these were computed already.
        record_groups: A relation with the rows of `RecomputeQueries.record_groups`, where these were computed already.
    """

    release: Sql
    metrics: Sql
    classes: Sql | None
    members: Sql | None = None
    class_sizes: Sql | None = None
    record_groups: Sql | None = None


SensitivePlaces = Callable[[ModelRequirement, str], Sql | None]
"""SQL rows with the position of each value of a column in its hierarchy; None where that is unknown."""


class RecomputeQueries:
    """Builder of the SQL that recomputes each metric from the tables of one release, for one reader."""

    def __init__(
        self,
        columns: ReleaseColumns,
        locations: TableLocations,
        k: int,
        demands: Sequence[ModelRequirement],
        joint: bool,
        cells: SensitivePlaces,
    ) -> None:
        """Store what the queries depend on.

        Args:
            columns: The columns of the release by role.
            locations: The names of the tables for the reader.
            k: The parameter k of the release.
            demands: The requirements of privacy models on sensitive columns.
            joint: Whether the models hold within records with equal other sensitive values (multi_sensitive = 'joint').
            cells: Returns the positions of a sensitive column's values in its hierarchy, as SQL rows; None if unknown.
        """
        self.columns, self.locations, self.k, self.demands, self.cells = columns, locations, k, demands, cells
        self.joint = joint and len(columns.sensitive) > 1

    def metric(self, name: str, stored_name: str) -> Sql:
        """Return the SQL that recomputes a metric.

        If the reader's tables do not suffice, the SQL reads the stored value from the table of metrics.

        Args:
            name: Today's name of the metric, such as `k` or `homogeneous_share:disease`.
            stored_name: Its name in the table of metrics, possibly an earlier one.
        """
        base, _, detail = name.partition(":")
        computed = (
            self._model_metric(base, detail)
            if base in {m.name for _, _, m in registry.metrics()}
            else self._simple_metric(base, detail)
        )
        return computed or Sql(
            f"SELECT value FROM {self.locations.metrics} WHERE metric = {text(stored_name)} "
            "/* as it was measured when the release was made; this statement repeats it */"
        )

    def share_at_risk(self) -> Sql | None:
        """Return SQL of the share of records in classes of fewer than k records (persons): those with a risk above 1/k.

        Returns None if persons are counted and the reader's tables do not show them.
        """
        return self._class_size_metric(
            f"coalesce(sum(records) FILTER (WHERE size < {self.k}), 0)::DOUBLE / sum(records)"
        )

    def marketer_risk(self) -> Sql | None:
        """Return SQL of the marketer risk: the number of classes divided by the number of records (persons).

        This is the expected share of correct matches if each record is matched at random in its class. Returns None if
        persons are counted and the reader's tables do not show them.
        """
        return self._class_size_metric("count(*)::DOUBLE / sum(size)")

    # --- measures of the rows ------------------------------------------------------------------------------------

    def _simple_metric(self, base: str, detail: str) -> Sql | None:
        """Return the SQL of a metric that belongs to no model of sensitive columns; k is one of these metrics.

        Returns None if the reader's tables do not suffice, or if the metric cannot be recomputed.

        Args:
            base: The name of the metric before the colon.
            detail: The part after the colon, such as a column; "" if there is none.
        """
        release, k = self.locations.release, self.k
        queries = {
            "records": Sql(f"SELECT count(*) FROM {release}"),
            "classes": self._class_count(),
            "persons": self._persons(),
            "k": self._class_size_metric("min(size)"),
            "k_full_record": self._equal_records_metric([*self.columns.quasi, *self.columns.unchanged], "min(size)"),
            "unique_by_unchanged_columns": self._equal_records_metric(
                self.columns.unchanged, "count(*) FILTER (WHERE size = 1)"
            ),
            "risk_highest": self._class_size_metric("max(1.0::DOUBLE / size)"),
            "risk_average": self._class_size_metric("sum(records::DOUBLE / size) / sum(records)"),
            "class_size_average": Sql(f"SELECT avg(records) FROM {self._sizes()}"),
            "class_size_greatest": Sql(f"SELECT max(records) FROM {self._sizes()}"),
            "precision": self._classes_metric(
                f"1 - sum({self._size} * {identifier(self.columns.loss)})::DOUBLE / sum({self._size})"
            ),
        }
        if base in queries:
            return queries[base]
        if base == "suppressed":
            return self._suppressed_count("outlier") if self.columns.suppressed else None
        if base == "dropped" and detail == "null":
            if self.columns.suppressed:
                return self._suppressed_count("null")
            return self._membership_metric("coalesce(sum(records), 0)", "class_id IS NULL AND held IS NOT TRUE")
        if base == "homogeneous_share":
            return self._homogeneous_share([c for c in self.columns.sensitive if detail in ("", c[0])])
        if base == "n_rare_values" and self.columns.persons is None:
            value = bytewise_column(*next(c for c in self.columns.sensitive if c[0] == detail))
            value_counts = f"SELECT {self._count} AS size FROM {self._rows} GROUP BY {value}"
            return Sql(f"SELECT count(*) FROM ({value_counts}) WHERE size < {k}")
        return None

    def _persons(self) -> Sql | None:
        """Return the SQL of the number of persons in the release; None if the reader's tables do not show it.

        It counts records if persons are not counted separately, else distinct pseudonyms of the person, else distinct
        keys of persons in the ledger.
        """
        if self.columns.persons is None:
            return Sql(f"SELECT count(*) FROM {self.locations.release}")
        if self.columns.person_link is not None:
            return Sql(f"SELECT count(DISTINCT {identifier(self.columns.person_link)}) FROM {self.locations.release}")
        return self._membership_metric("count(DISTINCT person_key)", "class_id IS NOT NULL")

    @property
    def _size(self) -> Sql:
        """The column of the classes with their number of records, quoted."""
        return identifier(self.columns.size)

    def _cells(self) -> Sql:
        """Return the published quasi-identifiers as SQL, separated by commas, for GROUP BY."""
        return join_sql(bytewise_column(*c) for c in self.columns.quasi)

    def _class_count(self) -> Sql:
        """Return the SQL of the number of classes."""
        if self._has_grouped_sizes and self.locations.class_sizes is not None:
            return Sql(f"SELECT count(*) FROM {self.locations.class_sizes}")
        return Sql(f"SELECT count(*) FROM (SELECT DISTINCT {self._cells()} FROM {self.locations.release})")

    @property
    def _has_grouped_sizes(self) -> bool:
        """Whether `class_sizes` groups the released rows, with one row per class."""
        return self.columns.persons is None or self.columns.person_link is not None

    def _sizes(self) -> Sql:
        """Return a SQL subquery with one row per class and the column `records`, its number of records."""
        if self._has_grouped_sizes and self.locations.class_sizes is not None:
            return self.locations.class_sizes
        return Sql(f"(SELECT count(*) AS records FROM {self.locations.release} GROUP BY {self._cells()})")

    def record_groups(self) -> Sql | None:
        """Return a SQL subquery with one row per distinct record: its published values, and how many records have them.

        Queries that group the released rows by some of these values can group these fewer rows. Pseudonyms are omitted.
        Returns None if persons are counted.
        """
        if self.columns.persons is not None:
            return None
        columns = (*self.columns.quasi, *self.columns.unchanged)
        return Sql(f"({distinct_rows(columns, self.locations.release, self._group_size)})")

    @property
    def _group_size(self) -> Sql:
        """The column of `record_groups` with the number of records, quoted; no column of the release has the name."""
        return group_size_column(self.columns.column_names)

    @property
    def _rows(self) -> Sql:
        """The relation that is grouped: `record_groups`, if these were computed already, else the released rows."""
        return self.locations.record_groups or self.locations.release

    @property
    def _count(self) -> Sql:
        """SQL of the number of records in a group of `_rows`."""
        return Sql("count(*)" if self.locations.record_groups is None else f"sum({self._group_size})::BIGINT")

    def _class_size_metric(self, expression: str) -> Sql | None:
        """Return the SQL of an expression over the rows of `class_sizes`; None if that is None."""
        class_sizes = self.locations.class_sizes or self.class_sizes()
        return None if class_sizes is None else Sql(f"SELECT {expression} FROM {class_sizes}")

    def class_sizes(self) -> Sql | None:
        """Return a SQL subquery with one row per class, and its columns `records` and `size`.

        `size` is the number of distinct persons of a class if persons are counted, else the number of records. Returns
        None if persons are counted and the reader's tables do not show them.
        """
        if self.columns.persons is None:
            class_sizes = (
                f"SELECT {self._count} AS records, {self._count} AS size FROM {self._rows} GROUP BY {self._cells()}"
            )
        elif self.columns.person_link is not None:
            persons = f"count(DISTINCT {identifier(self.columns.person_link)})"
            class_sizes = (
                f"SELECT count(*) AS records, {persons} AS size FROM {self.locations.release} GROUP BY {self._cells()}"
            )
        elif self.locations.classes is not None:
            class_sizes = (
                f"SELECT {self._size} AS records, {identifier(self.columns.persons)} AS size "
                f"FROM {self.locations.classes} "
                f"WHERE {identifier(self.columns.class_id)} IS NOT NULL"
            )
        else:
            return None
        return Sql(f"({class_sizes})")

    def _equal_records_metric(self, columns: Columns, expression: str) -> Sql | None:
        """Return the SQL of an expression over `size`, the numbers of records that look the same in the given columns.

        Returns None if persons are counted, who are not published, or if no column is published unchanged.
        """
        if self.columns.persons is not None or not self.columns.unchanged:
            return None
        values = f"SELECT {self._count} AS size FROM {self._rows} GROUP BY {shown_values(columns)}"
        return Sql(f"SELECT {expression} FROM ({values})")

    def _classes_metric(self, expression: str) -> Sql | None:
        """Return the SQL of an expression over the table of classes, without its rows about suppressed records.

        Returns None if the reader does not have the table.
        """
        if self.locations.classes is None:
            return None
        return Sql(
            f"SELECT {expression} FROM {self.locations.classes} WHERE {identifier(self.columns.class_id)} IS NOT NULL"
        )

    def _suppressed_count(self, reason: str) -> Sql | None:
        """Return the SQL of the number of records suppressed for a reason ("outlier" or "null").

        Returns None if the reader does not have the table of classes, or if it has no such column.
        """
        if self.locations.classes is None or self.columns.suppressed is None:
            return None
        return Sql(
            f"SELECT coalesce(sum({self._size}), 0) FROM {self.locations.classes} "
            f"WHERE {identifier(self.columns.suppressed)} = {text(reason)}"
        )

    def _membership_metric(self, expression: str, condition: str) -> Sql | None:
        """Return the SQL of an expression over those rows of dbanon.membership, of this version, that meet a condition.

        Returns None if the reader does not have the membership. `expression` and `condition` are SQL.
        """
        return (
            None
            if self.locations.members is None
            else Sql(f"SELECT {expression} FROM {self.locations.members} WHERE {condition}")
        )

    def _homogeneous_share(self, columns: Columns) -> Sql:
        """Return the SQL of the share of records in classes in which one or more of `columns` have a single value.

        NULL counts as a value.
        """
        values = [bytewise_column(*c) for c in columns]
        counts = join_sql(f"count(DISTINCT {v}) + (count(*) > count({v}))::INTEGER" for v in values)
        classes = f"{self._count} AS records, least({counts}) AS different FROM {self._rows} GROUP BY {self._cells()}"
        return Sql(
            f"SELECT coalesce(sum(records) FILTER (WHERE different = 1), 0)::DOUBLE / sum(records) "
            f"FROM (SELECT {classes})"
        )

    # --- privacy models ------------------------------------------------------------------------------------------

    def _model_metric(self, base: str, column: str) -> Sql | None:
        """Return the SQL of the value that the metric of a model of sensitive columns (not k) has for a column.

        Returns None if the call did not ask for the model; if persons are counted, who are not published; or if the
        positions of values in their hierarchy are needed and unknown.

        Args:
            base: The name of the metric.
            column: The sensitive column.
        """
        number = [n for n, _ in self.columns.sensitive].index(column)
        demand = next(
            (d for d in self.demands if d.sensitive == number and d.form_definition.metric.name == base), None
        )
        if demand is None or self.columns.persons is not None:
            return None
        cells = None
        if demand.form_definition.value_order:
            cells = self.cells(demand, column)
            if cells is None:
                return None
        value = bytewise_column(*self.columns.sensitive[number])
        others = (
            [bytewise_column(*c) for i, c in enumerate(self.columns.sensitive) if i != number] if self.joint else []
        )
        return Sql(
            fill(
                "publishing/certificate_model.sql",
                part=join_sql([self._cells(), *others]),
                value=value,
                release=self._rows,
                count=self._count,
                file=demand.privacy_model.sql_file,
                form=demand.form,
                settings={name: Sql(repr(value)) for name, value in demand.settings.items()},
                higher=demand.form_definition.is_higher,
                places=[Sql(name) for name in demand.form_definition.order_columns],
                cells=cells,
            ).strip()
        )


def group_size_column(columns: Collection[str]) -> Sql:
    """Return a name for the number of records in a group, quoted, that none of `columns` has."""
    return identifier("records".ljust(1 + max(map(len, columns)), "_"))


def distinct_rows(columns: Columns, relation: Sql, size: Sql) -> Sql:
    """Return a SQL query of the distinct rows of a relation, as readers see them, and how many there are of each.

    Args:
        columns: Names and types of the columns.
        relation: The relation.
        size: The quoted name of the column with the number of rows.
    """
    cells = join_sql(f"{bytewise_column(*c)} AS {identifier(c[0])}" for c in columns)
    return Sql(f"SELECT {cells}, count(*) AS {size} FROM {relation} GROUP BY {shown_values(columns)}")


def shown_values(columns: Columns) -> Sql:
    """Return SQL of columns, separated by commas, by which values are equal only if readers see the same.

    Where equal values of a type can have different texts (0.0 and -0.0), the text is added.
    """
    texts = (Sql(f"{identifier(name)}::VARCHAR") for name, type_ in columns if not has_equal_texts(type_))
    return join_sql([*(bytewise_column(*c) for c in columns), *texts])


def bytewise_column(name: str, type_: str) -> Sql:
    """Return SQL of a column; texts get a collation by which they are compared byte by byte."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_.startswith("VARCHAR") else identifier(name)
