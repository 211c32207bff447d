"""Plain SQL that recomputes the metrics of a release from its published tables; any DuckDB runs it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from dbanon.privacy_models import registry
from dbanon.privacy_models.model_request import ModelRequirement
from dbanon.release.spec.published_columns import class_column_kinds
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.sqltext.templates import fill

Columns = Sequence[tuple[str, str]]
"""Names and types."""


@dataclass(frozen=True)
class ReleaseColumns:
    """The columns of a release and of its classes, by role."""

    quasi: Columns
    sensitive: Columns
    other: Columns
    links: Columns
    class_id: str
    size: str
    persons: str | None
    loss: str
    suppressed: str | None
    person_link: str | None = None
    """The published pseudonym of the person column, by which a recipient counts persons."""

    @property
    def unchanged(self) -> Columns:
        """The columns that are published unchanged."""
        return [*self.sensitive, *self.other]

    @property
    def column_names(self) -> set[str]:
        """The names of all columns of the release."""
        return {n for n, _ in (*self.quasi, *self.unchanged, *self.links)} | {self.class_id}


def release_columns(
    classes: Mapping[str, str], release: Mapping[str, str], roles: Mapping[str, str], suppress: bool
) -> ReleaseColumns:
    """Return the columns by role, from both tables in their order and the roles in the ledger.

    `suppress`: whether outliers were suppressed.
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
        links=[(n, release.get(n, "VARCHAR")) for n, role in roles.items() if role == "pseudonym"],
        class_id=class_id,
        size=size,
        persons=columns["persons"][0][0] if by_person else None,
        loss=loss,
        suppressed=columns["suppressed"][0][0] if suppress else None,
    )


@dataclass(frozen=True)
class TableLocations:
    """The names of a release's tables for one reader; None for tables that the reader does not have."""

    release: Sql
    metrics: Sql
    classes: Sql | None
    members: Sql | None = None


SensitivePlaces = Callable[[ModelRequirement, str], Sql | None]
"""SQL rows with the position of each value of a column in its hierarchy; None where that is unknown."""


class RecomputeQueries:
    """The SQL of every metric, for the columns of one release and one reader."""

    def __init__(
        self,
        columns: ReleaseColumns,
        locations: TableLocations,
        k: int,
        demands: Sequence[ModelRequirement],
        joint: bool,
        cells: SensitivePlaces,
    ) -> None:
        self.columns, self.locations, self.k, self.demands, self.cells = columns, locations, k, demands, cells
        self.joint = joint and len(columns.sensitive) > 1

    def metric(self, name: str, stored_name: str) -> Sql:
        """Return the SQL of a metric by its name.

        If it cannot be recomputed, the SQL reads it from the table of metrics, in which it has `stored_name`.
        """
        base, _, detail = name.partition(":")
        computed = (
            self._model_metric(base, detail)
            if base in {m.name for _, _, m in registry.metrics()}
            else self._simple_metric(base, detail)
        )
        return computed or self.stored_metric(stored_name)

    def stored_metric(self, name: str) -> Sql:
        """Return the SQL that reads a metric from the table of metrics."""
        return Sql(
            f"SELECT value FROM {self.locations.metrics} WHERE metric = {text(name)} "
            "/* as it was measured when the release was made; this statement repeats it */"
        )

    def share_at_risk(self) -> Sql | None:
        """Return SQL of the share of records whose risk is above 1/k: in classes of fewer than k records (persons).

        None if persons count but neither the release nor NAME_classes shows them.
        """
        return self._class_size_metric(f"coalesce(sum(records) FILTER (WHERE size < {self.k}), 0) / sum(records)")

    def marketer_risk(self) -> Sql | None:
        """Return the SQL of the average share of records (persons) that a random match re-identifies."""
        return self._class_size_metric("count(*) / sum(size)")

    # --- measures of the rows ------------------------------------------------------------------------------------

    def _simple_metric(self, base: str, detail: str) -> Sql | None:
        release, k = self.locations.release, self.k
        queries = {
            "records": Sql(f"SELECT count(*) FROM {release}"),
            "classes": Sql(f"SELECT count(*) FROM (SELECT DISTINCT {self._cells()} FROM {release})"),
            "persons": self._persons(),
            "k": self._class_size_metric("min(size)"),
            "k_full_record": self._equal_records_metric([*self.columns.quasi, *self.columns.unchanged], "min(size)"),
            "unique_by_unchanged_columns": self._equal_records_metric(
                self.columns.unchanged, "count(*) FILTER (WHERE size = 1)"
            ),
            "risk_highest": self._class_size_metric("max(1.0 / size)"),
            "risk_average": self._class_size_metric("sum(records / size) / sum(records)"),
            "class_size_average": Sql(f"SELECT avg(records) FROM {self._sizes()}"),
            "class_size_greatest": Sql(f"SELECT max(records) FROM {self._sizes()}"),
            "precision": self._classes_metric(f"1 - sum({self._size} * {self._loss}) / sum({self._size})"),
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
            return Sql(
                f"SELECT count(*) FROM (SELECT count(*) AS size FROM {release} GROUP BY {value}) WHERE size < {k}"
            )
        return None

    def _persons(self) -> Sql | None:
        """Return the SQL of the number of persons.

        Records if every person has one, else distinct pseudonyms or the keys in the ledger.
        """
        if self.columns.persons is None:
            return Sql(f"SELECT count(*) FROM {self.locations.release}")
        if self.columns.person_link is not None:
            return Sql(f"SELECT {self._distinct_persons(self.columns.person_link)} FROM {self.locations.release}")
        return self._membership_metric("count(DISTINCT person_key)", "class_id IS NOT NULL")

    @staticmethod
    def _distinct_persons(link: str) -> Sql:
        """Return an aggregate that counts persons by the pseudonym of the person."""
        return Sql(f"count(DISTINCT {identifier(link)})")

    @property
    def _size(self) -> Sql:
        return identifier(self.columns.size)

    @property
    def _loss(self) -> Sql:
        return identifier(self.columns.loss)

    def _cells(self) -> Sql:
        return join_sql(bytewise_column(*c) for c in self.columns.quasi)

    def _sizes(self) -> Sql:
        return Sql(f"(SELECT count(*) AS records FROM {self.locations.release} GROUP BY {self._cells()})")

    def _class_size_metric(self, expression: str) -> Sql | None:
        """Return the SQL of a metric of `records` and `size` of classes (in persons if there are persons)."""
        if self.columns.persons is None:
            class_sizes = (
                f"SELECT count(*) AS records, count(*) AS size FROM {self.locations.release} GROUP BY {self._cells()}"
            )
        elif self.columns.person_link is not None:
            persons = self._distinct_persons(self.columns.person_link)
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
        return Sql(f"SELECT {expression} FROM ({class_sizes})")

    def _equal_records_metric(self, columns: Columns, expression: str) -> Sql | None:
        """Return the SQL of a metric of `size`, the number of records with equal values in these columns.

        Persons are not published.
        """
        if self.columns.persons is not None or not self.columns.unchanged:
            return None
        values = join_sql(bytewise_column(*c) for c in columns)
        return Sql(
            f"SELECT {expression} FROM (SELECT count(*) AS size FROM {self.locations.release} GROUP BY {values})"
        )

    def _classes_metric(self, expression: str) -> Sql | None:
        if self.locations.classes is None:
            return None
        return Sql(
            f"SELECT {expression} FROM {self.locations.classes} WHERE {identifier(self.columns.class_id)} IS NOT NULL"
        )

    def _suppressed_count(self, reason: str) -> Sql | None:
        if self.locations.classes is None or self.columns.suppressed is None:
            return None
        return Sql(
            f"SELECT coalesce(sum({self._size}), 0) FROM {self.locations.classes} "
            f"WHERE {identifier(self.columns.suppressed)} = {text(reason)}"
        )

    def _membership_metric(self, expression: str, condition: str) -> Sql | None:
        return (
            None
            if self.locations.members is None
            else Sql(f"SELECT {expression} FROM {self.locations.members} WHERE {condition}")
        )

    def _homogeneous_share(self, columns: Columns) -> Sql:
        """Return the SQL of the share of records in classes with one value (NULL is a value) in any of the columns."""
        values = [bytewise_column(*c) for c in columns]
        counts = join_sql(f"count(DISTINCT {v}) + (count(*) > count({v}))::INTEGER" for v in values)
        return Sql(
            f"SELECT coalesce(sum(records) FILTER (WHERE different = 1), 0) / sum(records) FROM (SELECT count(*) AS "
            f"records, least({counts}) AS different FROM {self.locations.release} GROUP BY {self._cells()})"
        )

    # --- privacy models ------------------------------------------------------------------------------------------

    def _model_metric(self, base: str, column: str) -> Sql | None:
        """Return the SQL of a model of a sensitive column; None if persons must be counted, who are not published."""
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
                release=self.locations.release,
                file=demand.privacy_model.sql_file,
                form=demand.form,
                settings={name: Sql(repr(value)) for name, value in demand.settings.items()},
                higher=demand.form_definition.is_higher,
                places=[Sql(name) for name in demand.form_definition.order_columns],
                cells=cells,
            ).strip()
        )


def bytewise_column(name: str, type_: str) -> Sql:
    """Return a column whose texts are compared byte by byte."""
    return Sql(f"{identifier(name)} COLLATE POSIX") if type_.startswith("VARCHAR") else identifier(name)
