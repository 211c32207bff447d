"""The certificate of a release: its source, its protection, its metrics, and SQL that recomputes each metric."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.errors.example import SAFE, Example
from dbanon.ledger import earlier_names, hashes, releases
from dbanon.ledger.people.unknown_sources import RELATION_UNKNOWN
from dbanon.policy.transforms.settings import TRANSFORM_SETTINGS
from dbanon.privacy_models import model_request, registry
from dbanon.publishing import recompute_queries, record_groups
from dbanon.publishing.recompute_queries import RecomputeQueries, ReleaseColumns, TableLocations
from dbanon.release.plan import plan
from dbanon.release.spec import resolve
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime import session
from dbanon.runtime.session import Session
from dbanon.source import catalog, earlier_schema
from dbanon.sqltext.messages import plural_form
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal, literal_rows, one_line, qualified, text
from dbanon.table_functions.table_function import Call, TableFunction

FORMS = ("text", "json")
FILES_SECTION = "SHA-256"
"""The section with the hashes of the files next to a certificate."""
COLUMNS = ("section", "item", "value", "sql")


@dataclass(frozen=True)
class Line:
    """One row of a certificate: an item (`label`) of a section, and its value as text.

    `sql` is a query that recomputes the value; None if there is no such query.
    """

    section: str
    label: str
    value: str
    sql: Sql | None = None


def certificate(connection: Any, name: str, form: str = "text") -> str:
    """Return the certificate of a published release as text or JSON ({section: {item: {value, sql}}}).

    It is for the custodian: it names the source and the withheld columns. `publish` writes a shorter one for
    recipients.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied.
        name: The name of the release.
        form: "text" or "json".

    Returns:
        The certificate.

    Raises:
        InvalidArgumentError: `form` or `connection` is another value.
        UnknownReleaseError: There is no such release.
        ReleaseChangedError: The tables of the release have changed since it was published.

    Examples:
        >>> import dbanon
        >>> con = dbanon.connect()
        >>> _ = con.execute("CREATE TABLE people AS SELECT unnest([21, 23, 61, 65]) AS age")
        >>> _ = dbanon.create_release(con, "safe", "mdav", "people", k=2, qi=["age"])
        >>> dbanon.certificate(con, "safe").splitlines()[0]
        'release'
    """
    if form not in FORMS:
        accepts = "one of " + ", ".join(f"'{f}'" for f in FORMS)
        raise errors.InvalidArgumentError("certificate", "form", accepts, repr(form))
    if not hasattr(connection, "execute"):
        accepts = (
            "a connection: it is created from the ledger, which has the releases that dbanon.create_release published "
            "there"
        )
        raise errors.InvalidArgumentError("certificate", "connection", accepts, f"a {type(connection).__name__}")
    current = session.find_session(session.plain_connection(connection))
    path = catalog.SearchPath.from_connection(connection)
    with current.cursor() as cursor:
        lines = checked_certificate(
            "certificate", releases.find_published("certificate", name, cursor, path), current, cursor
        ).lines()
    return (as_text if form == "text" else as_json)(lines)


def certificate_sql(call: Call) -> Sql:
    """Return the SQL of the table function certificate('name'): the lines of the custodian's certificate as rows.

    Raises:
        UnknownReleaseError: There is no such release.
        ReleaseChangedError: The tables have changed since the release was published.
    """
    entry = releases.find_published(call.function.name, call.text("release"), call.cursor, call.path)
    return rows_sql(checked_certificate(call.function.name, entry, call.session, call.cursor).lines())


def checked_certificate(function: str, entry: releases.LedgerEntry, session: Session, cursor: Any) -> Certificate:
    """Return the certificate of a release after comparing its tables with the hashes in the ledger.

    A release of an earlier version of dbanon without hashes is not compared.

    Raises:
        ReleaseChangedError: The tables have changed since the release was published.
    """
    certificate = Certificate(entry, session, cursor, function)
    for problem in hashes.version_changes(cursor, entry) or ():
        raise errors.ReleaseChangedError(function, entry.display_name, problem)
    return certificate


def rows_sql(lines: Sequence[Line]) -> Sql:
    """Return a query for the lines of a certificate as rows with the text columns section, item, value and sql.

    `sql` is NULL for a line without a query.
    """
    return literal_rows(
        dict.fromkeys(COLUMNS, "VARCHAR"), [[line.section, line.label, line.value, line.sql] for line in lines]
    )


def as_text(lines: Sequence[Line]) -> str:
    """Return a certificate as text: the lines in one block per section, then the SQL of each line that has SQL.

    A section whose lines are not consecutive has several blocks.
    """
    sections = (
        f"{section}\n" + "".join(f"  {one_line(f'{line.label}: {line.value}')}\n" for line in group)
        for section, group in itertools.groupby(lines, key=lambda line: line.section)
    )
    queries = "".join(
        f"-- {one_line(f'{line.section}, {line.label}: {line.value}')}\n{line.sql};\n" for line in lines if line.sql
    )
    return "\n".join(sections) + f"\nhow to recompute the numbers, in any DuckDB\n\n{queries}"


def as_json(lines: Sequence[Line]) -> str:
    """Return a certificate as JSON: {section: {item: {"value": ..., "sql": ...}}}; `sql` only where there is one."""
    document: dict[str, dict[str, dict[str, str]]] = {}
    for line in lines:
        document.setdefault(line.section, {})[line.label] = {"value": line.value} | (
            {"sql": str(line.sql)} if line.sql else {}
        )
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


# --- what it says ------------------------------------------------------------------------------------------------

_VERIFICATION = (
    "by the release gate, before a row was released, on the final rows, which it compared with a second reading of "
    "the source and of the policy: every record is there once with its own unchanged values or is counted as "
    "suppressed or dropped, no column or value is finer than the policy allows, published values cover the original "
    "ones, and the classes of equal published values meet the model; from the algorithm, the gate uses only which "
    "record is in which class"
)
_TRANSFORM_DESCRIPTIONS = {
    "pseudonym": "HMAC-SHA-256 of the value with a key that is not included; it protects no one",
    "mask": "a part of the text; checked like a value that is published unchanged",
    "shift": (
        "dates shifted by a number of days that follows from the person and a key that is not included; checked in "
        "the same way"
    ),
}
_RECORDS_ARE_COUNTED = "records; no person column is declared: a person with several records counts several times"
_LIMITS = {
    "homogeneity": (
        "if all records of a class share a sensitive value, a reader learns it without singling out a person"
    ),
    "background knowledge": (
        "a reader who knows which values a person does not have, or rarely has, can rule values out"
    ),
    "composition": "releases of the same people, or a release and other data, can be intersected to fewer than k",
    "minimality and downcoding": (
        "ranges show exact extremes of a class, and a reader who knows the algorithm can sometimes undo a part of a "
        "minimal generalization"
    ),
}
_PARAMETERS_FOR_RECIPIENTS = (
    "k",
    *(p.name for p in registry.parameters()),
    "multi_sensitive",
    "suppress",
    "nulls",
    "intervals",
    "escape_labels",
)
"""Parameters that a recipient sees; others may name withheld columns, or nodes of a hierarchy."""


class Certificate:
    """A certificate: the statements about one published version, for its custodian or for a recipient."""

    def __init__(
        self, entry: releases.LedgerEntry, session: Session, cursor: Any, function: str = "certificate"
    ) -> None:
        """Read the ledger row of a version and the columns of its tables.

        Args:
            entry: The version.
            session: The session.
            cursor: A cursor.
            function: The function that was called, for messages.

        Raises:
            ReleaseChangedError: A table of the release does not exist.
        """
        self.entry, self.session, self.cursor, self.function = entry, session, cursor, function
        table = qualified(entry.database, catalog.SCHEMA, "release")
        result = cursor.execute(
            f"SELECT * FROM {table} WHERE (schema_name, name, version) = (?, ?, ?)",
            [entry.schema, entry.name, entry.version],
        )
        cells = catalog.rows_by_column(result)[0]
        self.row = earlier_schema.current_row("release", cells) | {"statement": entry.statement}
        self.roles, self.parameters = entry.roles, entry.options
        self.metrics = earlier_names.current_metrics(dict(self.row["metrics"]))
        self.stored_metrics = {renamed_names.current_metric(name): name for name in self.row["metrics"]}
        self.columns = self._columns("")
        self.shape = recompute_queries.release_columns(
            self._columns("_classes"), self.columns, self.roles, bool(self.parameters.get("suppress"))
        )
        self._columns("_metrics")
        self.demands = model_request.model_requirements(
            function, entry.display_name, self.parameters, [n for n, _ in self.shape.sensitive]
        )

    def _columns(self, table_suffix: str) -> dict[str, str]:
        """Return the columns (type by name, in order) of one of the release's tables.

        Args:
            table_suffix: The ending of the table's name after that of the release: "", "_metrics" or "_classes".

        Raises:
            ReleaseChangedError: The table does not exist.
        """
        place = (self.entry.database, self.entry.schema, self.entry.name + table_suffix)
        if place not in catalog.relations(self.cursor, self.entry.database):
            raise errors.ReleaseChangedError(self.function, self.entry.display_name, f"table {place[2]} is missing")
        return catalog.columns_of(self.cursor, place)

    @property
    def local_tables(self) -> TableLocations:
        """The names of the release's tables without the name of their database, for a reader in that database.

        The schema is omitted if it is `main`. `members` are the version's rows of dbanon.membership.
        """
        schema = "" if self.entry.schema == "main" else self.entry.schema
        release, classes, metrics = (qualified(schema, self.entry.name + e) for e in releases.TABLES)
        return TableLocations(release, metrics, classes, self._members(Sql(f"{catalog.SCHEMA}.membership")))

    @property
    def qualified_tables(self) -> TableLocations:
        """The names of the release's tables with the name of their database, for use from any database."""
        release, classes, metrics = (self.entry.table(e) for e in releases.TABLES)
        has_members = bool(self.row["source_records"])  # of a release made for files there are none
        members = self._members(qualified(self.entry.database, catalog.SCHEMA, "membership")) if has_members else None
        return TableLocations(release, metrics, classes, members)

    def published_tables(self, *, classes: bool, schema: str = "", name: str | None = None) -> TableLocations:
        """Return the names of the tables in a database for recipients, such as `publish` writes, without its name.

        Such a database has no membership.

        Args:
            classes: Whether the database has the table of classes.
            schema: The schema of the tables there; "" if it is the one in which names without a schema are looked up.
            name: The name of the release there; None for its own.
        """
        release, of_classes, metrics = (qualified(schema, (name or self.entry.name) + e) for e in releases.TABLES)
        return TableLocations(release, metrics, of_classes if classes else None)

    def _members(self, table: Sql) -> Sql:
        """Return a SQL subquery for the version's rows of a membership table (which record is in which class).

        Rows of deferred records are omitted.
        """
        key = join_sql([text(self.entry.schema), text(self.entry.name), literal(self.entry.version)])
        waits = " AND waiting IS NOT TRUE" if self.row.get("waiting") else ""
        return Sql(f"(FROM {table} WHERE (schema_name, release, version) = ({key}){waits})")

    def recompute_queries(self, locations: TableLocations) -> RecomputeQueries:
        """Return the builder of the SQL that recomputes each metric from the tables at these locations."""
        return RecomputeQueries(
            self._countable,
            locations,
            self.entry.k,
            self.demands,
            self.parameters.get("multi_sensitive") == "joint",
            self._value_places,
        )

    @cached_property
    def _countable(self) -> ReleaseColumns:
        """The columns of the release by role, changed so that a recipient can count persons, if the rows allow it.

        If there are as many persons as records, records are counted. If there are as many pseudonyms as persons and
        none is missing, pseudonyms are counted. Otherwise the columns are unchanged, and persons cannot be counted in
        the rows.
        """
        persons = self.metrics.get("persons")
        if persons is None or persons == self.metrics.get("records"):
            # where every person has one record, persons are counted as records are
            return self.shape if persons is None else replace(self.shape, persons=None)
        links = [column for column, role in self.roles.items() if role == "pseudonym"]
        if len(links) == 1 and "person" not in self.roles.values():
            link = identifier(links[0])
            counts = f"count(DISTINCT {link}), count(*) - count({link})"
            if self.cursor.execute(f"SELECT {counts} FROM {self.entry.table()}").fetchall()[0] == (persons, 0):
                return replace(self.shape, person_link=links[0])
        return self.shape

    def lines(self, locations: TableLocations | None = None) -> list[Line]:
        """Return all lines of the certificate.

        Args:
            locations: The names of the tables as a recipient writes them. A recipient sees fewer lines. None for the
                custodian.
        """
        for_recipient = locations is not None
        return [
            *self._release_lines(for_recipient),
            *(Line("roles", c, r) for c, r in self.roles.items() if not for_recipient or c in self.published_columns),
            *(
                Line("parameters", name, value if isinstance(value, str) else json.dumps(value))
                for name, value in self.parameters.items()
                if value is not None and (not for_recipient or name in _PARAMETERS_FOR_RECIPIENTS)
            ),
            *self._model_lines(),
            *self._transform_lines(for_recipient),
            *self._metric_lines(self.recompute_queries(locations or self.local_tables)),
            *self._pending_lines(for_recipient),
            *self._withheld_lines(for_recipient),
            *self._limit_lines(),
            *self._history_lines(for_recipient),
        ]

    def problems(self) -> Iterator[str]:
        """Yield messages on how the release differs from what was published; none if it is unchanged.

        The tables and the ledger row are compared by hashes, unless only this process could change them. Only if these
        agree are metrics recomputed and compared.

        Raises:
            ReleaseHashesMissingError: The ledger has no hashes of the release.
        """
        changes = [] if self.session.has_private_database else hashes.version_changes(self.cursor, self.entry)
        if changes is None:
            raise errors.ReleaseHashesMissingError("publish", self.entry.display_name)
        yield from changes
        if changes:
            return
        steps, tables = self._grouped_once()
        queries = self.recompute_queries(tables)
        lines_by_label = {line.label: line for line in self._metric_lines(queries, with_risks=False) if line.sql}
        values = join_sql(
            f"({sql})" for sql in (*(line.sql for line in lines_by_label.values()), *_risk_queries(queries))
        )
        ((*results, share_at_risk, marketer_risk),) = self.cursor.execute(f"{steps}SELECT {values}").fetchall()
        self._risks = float(share_at_risk), float(marketer_risk)
        for (label, line), result in zip(lines_by_label.items(), results, strict=True):
            if result is None or abs(float(result) - float(line.value)) > 1e-9 * max(1.0, abs(float(line.value))):
                yield f"{label} was {line.value} and is {'nothing' if result is None else format_number(float(result))}"

    @property
    def published_columns(self) -> set[str]:
        """The columns of the source that are published in any form, and whose names a recipient sees.

        Their roles are quasi, sensitive, insensitive, pseudonym, mask and shift.
        """
        return {
            c for c, role in self.roles.items() if role in ("quasi", "sensitive", "insensitive", *TRANSFORM_SETTINGS)
        }

    def _release_lines(self, for_recipient: bool) -> list[Line]:
        """Return the lines that identify the release: name, version, time, algorithm and version of dbanon.

        The custodian also sees the versions of other libraries, the source with its number of records, the fingerprints
        of source, policy and hierarchies, the statement, and whether the ledger has hashes of the tables.
        """
        row = self.row
        values = {
            "name": self.entry.display_name if not for_recipient else self.entry.name,
            "version": str(self.entry.version),
            "released at": row["released_at"].isoformat(sep=" ", timespec="seconds") + " UTC",
            "algorithm": row["algorithm"],
            "library dbanon": row["library_versions"]["dbanon"],
        }
        if not for_recipient:
            tables = (
                "unchanged since the release, according to the hashes in the ledger"
                if row.get("hashes")
                else "unknown: it was created by an earlier version of dbanon, which stored no hashes. Hint: refresh it"
            )
            values |= {f"library {n}": v for n, v in row["library_versions"].items() if n != "dbanon"} | {
                "source": row["source"],
                "source records": str(row["source_records"]),
                "source fingerprint": row["source_fingerprint"],
                "policy fingerprint": row["policy_fingerprint"],
                "hierarchy fingerprint": row["hierarchy_fingerprint"],
                "statement": row["statement"],
                "tables": tables,
            }
        return [Line("release", label, value) for label, value in values.items()]

    def _model_lines(self) -> list[Line]:
        """Return the lines about k and the privacy models, what they count, and how the gate verified them."""
        new_line = partial(Line, "model")
        people = "distinct persons" if self.shape.persons else "records"
        counted_unit = "distinct persons of the declared person column" if self.shape.persons else _RECORDS_ARE_COUNTED
        return [
            new_line("k", f"at least {self.entry.k} {people} in every class of equal published quasi-identifiers"),
            *(new_line(f"{d.parameter} of {self.shape.sensitive[d.sensitive][0]}", d.sentence) for d in self.demands),
            new_line("counted", counted_unit),
            new_line("verified", _VERIFICATION),
        ]

    def _transform_lines(self, for_recipient: bool) -> Iterator[Line]:
        """Yield the lines about pseudonyms, masks and shifted dates; only the custodian sees the reference of the key.

        If pseudonyms are published, one more line states that readers see which records belong together.
        """
        for column, role in self.roles.items():
            if role in TRANSFORM_SETTINGS:
                key = (
                    ""
                    if for_recipient or column not in self.entry.keys
                    else f"; key and scope: {self.entry.keys[column]}"
                )
                yield Line("made", f"{role} of {column}", _TRANSFORM_DESCRIPTIONS[role] + key)
        if self.entry.pseudonym_keys:
            belong = (
                "belong to one person"
                if len(self.entry.pseudonym_keys) == 1
                else "share a pseudonym, so they belong together"
            )
            yield Line("not protected", "pseudonyms", f"readers see which records {belong}")

    def _metric_lines(self, queries: RecomputeQueries, *, with_risks: bool = True) -> Iterator[Line]:
        """Yield the lines about metrics, risks and numbers of suppressed and dropped records, most with their SQL.

        A metric that the ledger does not have is omitted. The share of records with a risk above 1/k and the marketer
        risk are computed now, from the tables. The number of records withheld since an erasure has no SQL.

        Args:
            queries: The builder of the SQL for the reader.
            with_risks: Whether there are lines about the risks that are computed now.
        """

        def metric_lines(*rows: tuple[str, str, str]) -> Iterator[Line]:
            """Return the lines for (section, label, metric); metrics that the ledger lacks are omitted."""
            return (
                Line(section, label, format_number(self.metrics[name]), queries.metric(name, self.stored_metrics[name]))
                for section, label, name in rows
                if name in self.metrics
            )

        yield from metric_lines(
            ("achieved", "records", "records"),
            ("achieved", "persons", "persons"),
            ("achieved", "classes", "classes"),
            *(("achieved", name.replace(":", " of ", 1), name) for name in self.row["achieved"]),
            ("achieved", "precision", "precision"),
            ("achieved", "class size, average", "class_size_average"),
            ("achieved", "class size, greatest", "class_size_greatest"),
            ("risk", "prosecutor, highest", "risk_highest"),
            ("risk", "prosecutor, average", "risk_average"),
            ("risk", "smallest group by everything published", "k_full_record"),
        )
        if with_risks:
            for label, value, sql in zip(_RISK_LABELS, self._risks, _risk_queries(queries), strict=True):
                yield Line("risk", label, format_number(value), sql)
        yield from metric_lines(
            ("not published", "as outliers", "suppressed"), ("not published", "for a NULL", "dropped:null")
        )
        if self.row.get("withheld_after_erasure"):
            yield Line("not published", "withheld since an erasure", str(self.row["withheld_after_erasure"]))
        yield from metric_lines(
            ("not published", "beyond bounds", "dropped:bounds"),
            ("not published", "as duplicates", "dropped:duplicate"),
            ("not protected", "records unique by all unchanged columns", "unique_by_unchanged_columns"),
        )
        if self.shape.sensitive:
            yield from metric_lines(("not protected", "share of records in homogeneous classes", "homogeneous_share"))
        for column, _ in self.shape.sensitive:
            label = f"values of {column} of fewer than k"
            yield from metric_lines(("not protected", label, f"n_rare_values:{column}"))

    @cached_property
    def _risks(self) -> tuple[float, float]:
        """The share of records (persons) with a risk above 1/k, and the marketer risk, computed from the tables."""
        steps, tables = self._grouped_once(with_records=False)
        values = join_sql(f"({sql})" for sql in _risk_queries(self.recompute_queries(tables)))
        ((share_at_risk, marketer_risk),) = self.cursor.execute(f"{steps}SELECT {values}").fetchall()
        return float(share_at_risk), float(marketer_risk)

    def _grouped_once(self, *, with_records: bool = True) -> tuple[str, TableLocations]:
        """Return a WITH clause whose steps group the released rows, and the tables and steps that queries then read.

        The rows are grouped once for all metrics: by all published values (`with_records`), and these groups by the
        quasi-identifiers. The WITH clause is empty if persons are counted whom the tables do not show.
        """
        steps, tables = dict[str, Sql](), self.qualified_tables
        if (stored := self.stored_groups([n for n, _ in (*self.shape.quasi, *self.shape.unchanged)])) is not None:
            tables = replace(tables, record_groups=stored)
        elif with_records and (groups := self.recompute_queries(tables).record_groups()) is not None:
            steps["record_groups"], tables = groups, replace(tables, record_groups=Sql("record_groups"))
        if (class_sizes := self.recompute_queries(tables).class_sizes()) is not None:
            steps["class_sizes"], tables = class_sizes, replace(tables, class_sizes=Sql("class_sizes"))
        clause = ", ".join(f"{name} AS MATERIALIZED {query}" for name, query in steps.items())
        return f"WITH {clause} " if steps else "", tables

    def stored_groups(self, columns: Collection[str]) -> Sql | None:
        """Return a table of the distinct rows of the release (see `record_groups`); None if none has these columns."""
        if not self.session.has_private_database:
            return None
        return record_groups.stored(self.cursor, self.entry, columns)

    def _pending_lines(self, for_recipient: bool) -> Iterator[Line]:
        """Yield the lines about deferred records, or none.

        The custodian sees the numbers of records and persons, if the ledger has them. A recipient sees, if the refresh
        mode is "hold", only that there may be some: a number greater than k would reveal that the records are similar.
        """
        if self.entry.refresh_mode == "hold" and for_recipient:
            yield Line(
                "not published",
                "waiting",
                "new records may be deferred until there are enough; their number is not published",
            )
        elif self.row.get("waiting") is not None and not for_recipient:
            yield Line("not published", "deferred until there are enough", str(self.row["waiting"]))
            if self.row["waiting_persons"] is not None:
                yield Line("not published", "persons of the deferred records", str(self.row["waiting_persons"]))

    def _withheld_lines(self, for_recipient: bool) -> Iterator[Line]:
        """Yield one line with the names of the withheld columns, or "none"; for a recipient only their number."""
        withheld = self.row["withheld"]
        yield Line("withheld", "columns", str(len(withheld)) if for_recipient else ", ".join(withheld) or "none")

    def _limit_lines(self) -> Iterator[Line]:
        """Yield the lines about what no release protects from, or this one because it counts records."""
        yield from (Line("not protected", label, value) for label, value in _LIMITS.items())
        if not self.shape.persons:
            yield Line("not protected", "people with several records", "they can be fewer than k in a class")

    def _history_lines(self, for_recipient: bool) -> Iterator[Line]:
        """Yield the lines about other releases and, unless the version is 1, about the version before it.

        A recipient sees neither names nor counts of other releases, and no number of small differences.
        """
        row = self.row
        new_line = partial(Line, "other releases")
        unchecked, unknown = _split_unchecked(row.get("unchecked_against") or [])
        if row["composition"] is None:
            yield new_line("composition", "not checkable: nothing identified the people of the source")
        elif for_recipient:
            yield new_line("composition", "checked against the custodian's other releases of the same people")
        elif row.get("source_tables") is None:
            yield new_line("composition", "checked by an earlier version of the library, for shared people only")
        else:
            narrowed = [
                f"{people} {plural_form(people, 'person', 'people')} with {other}"
                for other, people in row["composition"].items()
                if people
            ]
            n_others = len(row["composition"])
            no_exposure = (
                f"no one below k or l, together with {n_others} other {plural_form(n_others, 'version', 'versions')} "
                "of the same people"
                if n_others
                else "no other version of the same people to compare with"
            )
            yield new_line(
                "composition",
                "narrowed down or distinguished below k or l: " + ", ".join(narrowed) if narrowed else no_exposure,
            )
        if unchecked and not for_recipient:
            yield new_line("compared by published counts only", ", ".join(unchecked))
        if unknown and not for_recipient:
            yield new_line("not compared, because it is unknown whether the people are the same", ", ".join(unknown))
        if row["version"] == 1:
            return
        kept_text = "records stayed in their classes"
        origin = {"keep": kept_text, "hold": kept_text, "recluster": "clustered again"}.get(
            row["refresh_mode"], "first"
        )
        yield new_line("version before", f"{origin}; a reader who has both can subtract or intersect them")
        if not for_recipient:
            n_small_differences = row["small_differences"]
            allowed_text = ", allowed when it was created" if row["allow_small_differences"] else ""
            yield new_line("classes that differ by too few records", f"{n_small_differences}{allowed_text}")

    # --- hierarchies of sensitive columns ----------------------------------------------------------------------------

    @cached_property
    def _current_spec(self) -> ReleaseSpec | None:
        """The release spec, resolved again from the source; None if it cannot be, or if hierarchies have changed."""
        try:
            spec = releases.current_spec(self.entry, self.session, self.cursor)
            is_same = resolve.hierarchy_fingerprint(spec, self.cursor) == self.entry.hierarchy_fingerprint
        except Exception:  # the source is gone or another, or the policy no longer fits
            return None
        return spec if is_same else None

    def _value_places(self, requirement: model_request.ModelRequirement, column: str) -> Sql | None:
        """Return the position of each value of a sensitive column in its hierarchy or enumeration.

        Returns:
            SQL rows `(value, position), ...` to be used after VALUES; some models need more than one column for the
            position. An empty text if the values' own order is used. None if the source or the hierarchies have changed
            or cannot be read, so that the positions are unknown.
        """
        spec = self._current_spec
        if spec is None:
            return None
        release, name = self.entry.table(), identifier(column)
        if column in spec.sensitive_hierarchies:
            number = next(
                n
                for n, d in enumerate(spec.model_requirements)
                if d.parameter == requirement.parameter and spec.roles.sensitive[d.sensitive] == column
            )
            query = plan.fill_release_template(
                "publishing/certificate_cells.sql", spec, version=release, number=number, column=name
            )
        elif self.columns[column].startswith("ENUM") and requirement.form_definition.order_columns == (
            "place",
        ):  # a file keeps the words and loses their order
            query = (
                f"SELECT CAST({name} AS VARCHAR), row_number() OVER (ORDER BY {name} ASC NULLS LAST) "
                f"FROM (SELECT DISTINCT {name} FROM {release})"
            )
        else:
            return Sql("")
        return join_sql(f"({join_sql(literal(v) for v in row)})" for row in self.cursor.execute(query).fetchall())


_RISK_LABELS = ("prosecutor, share of records above 1/k", "marketer, average")


def _risk_queries(queries: RecomputeQueries) -> tuple[Sql | None, Sql | None]:
    """Return the SQL of the two risks of _RISK_LABELS."""
    return queries.share_at_risk(), queries.marketer_risk()


def format_number(value: float) -> str:
    """Return a number as certificates show it: integers without a decimal point, others with 12 significant digits."""
    return str(int(value)) if math.isfinite(value) and value == int(value) else f"{value:.12g}"


FUNCTIONS = (
    TableFunction(
        "certificate",
        ("release",),
        (),
        "Returns the statements about a release: source, roles, parameters, model, achieved values, risks and "
        "limits, with the SQL that recomputes each number.",
        handler=certificate_sql,
        example=Example("SELECT * FROM certificate('safe');", SAFE),
    ),
)


def _split_unchecked(unchecked: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the versions that were compared by published counts only, and the releases that were not compared at all.

    The latter have the suffix RELATION_UNKNOWN in `unchecked`, which is removed.
    """
    unknown = [name.removesuffix(RELATION_UNKNOWN) for name in unchecked if name.endswith(RELATION_UNKNOWN)]
    return [name for name in unchecked if not name.endswith(RELATION_UNKNOWN)], unknown
