"""The report's sections about columns: the loss of each, and its values before and after."""

from dataclasses import dataclass

from dbanon.errors import DbanonError
from dbanon.publishing.certificate import Line, format_number
from dbanon.publishing.report import svg
from dbanon.publishing.report.blocks import (
    AdjacentTables,
    Block,
    CertificateLines,
    NoteBlock,
    PlotBlock,
    ReportQuery,
    ResultTable,
    Section,
    format_cell,
)
from dbanon.publishing.report.queries import ReleaseReader
from dbanon.sqltext.names import fold_case
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.sqltext.templates import fill

N_FREQUENT_VALUES = 5
"""Values of a column that are listed."""


@dataclass(frozen=True)
class UnchangedSource:
    """The source of a release that has not changed since.

    Attributes:
        display_sql: The source in displayed SQL.
        executable_sql: The source in executed SQL.
        person: Its person column; None if it has none.
        name: Its name as an argument of a table function.
    """

    display_sql: Sql
    executable_sql: Sql
    person: str | None
    name: str


def loss_section(reader: ReleaseReader, source: UnchangedSource | None) -> Section:
    """Return the section about the loss of each quasi-identifier.

    It shows the average level of generalization, which needs the source, and the share of fully generalized records. If
    a level cannot be computed, a note says why.
    """
    facts: list[Line] = []
    levels: list[tuple[str, float]] = []
    parts: list[Block] = []
    quasi = [column for column, role in reader.entry.roles.items() if role == "quasi"]
    if source is not None:
        for column in quasi:
            try:
                query = reader.function("distortion", ("value",), {"qi": [column], "normalize_levels": True})
            except DbanonError as problem:
                parts.append(NoteBlock(f"How far {format_cell(column)} was raised could not be computed: {problem}"))
                continue
            value = float(reader.rows(query)[0][0])
            facts.append(Line("loss", f"{column}: average level", format_number(value), query.display_sql))
            levels.append((column, value))
    recompute = reader.certificate.recompute_queries(reader.locations)
    nothing = []
    for column in quasi:
        name = f"fully_generalized:{column}"
        if name in reader.certificate.metrics:
            value = reader.certificate.metrics[name]
            metric_sql = recompute.metric(name, reader.certificate.stored_metrics[name])
            facts.append(Line("loss", f"{column}: share without information", format_number(value), metric_sql))
            nothing.append((column, value))
    sentences = ["Generalization removes detail. This protects people, and makes analyses less exact."]
    if levels:
        sentences.append(
            "The average level is 0 if values are published unchanged, and 1 if they are fully generalized: the "
            "height of a published node in its hierarchy, or the width of a range over that of the column."
        )
    sentences.append(
        "The share without information is the share of the records whose published value can be any value of the "
        "column."
    )
    kind = "average level" if levels else "share of records without information"
    bars = svg.bar_plot(levels or nothing, kind)
    sql = [line.sql for line in facts if line.sql and line.label.endswith(kind if levels else "without information")]
    return Section(
        "loss",
        "Loss by column",
        sentences,
        [PlotBlock(bars, f"Quasi-identifiers by {kind}.", sql), CertificateLines(facts), *parts],
    )


def values_section(reader: ReleaseReader, source: UnchangedSource | None) -> Section:
    """Return the section about the published columns: numbers of distinct and missing values, after and before.

    Without the source only the numbers of the release are shown. The custodian also sees the most frequent values of
    each column; of the source, only values that at least k records (persons) share.
    """
    columns = [c for c, role in reader.entry.roles.items() if c in reader.certificate.published_columns and role]
    query = _summary_query(reader, columns, source)
    rows = reader.rows(query)
    head = ("column", *(("different before", "missing before") if source else ()), "different after", "missing after")
    sentences = ["Published columns, with the number of different values and of records without a value."]
    if source is None:
        sentences.append("Their numbers in the source are not stated here.")
    else:
        sentences.append(
            f"The values before are those of the source. Only values that at least {reader.entry.k} "
            f"{'persons' if source.person else 'records'} share are shown."
        )
    marks = [(row[0], *((row[1],) if source else ()), row[-2]) for row in rows]
    parts: list[Block] = [
        PlotBlock(
            svg.before_after_plot(marks, "different values"),
            "Different values of each column, before and after." if source else "Different published values.",
            [query.display_sql],
        ),
        ResultTable("Different and missing values", head, rows, query.display_sql),
    ]
    parts += [] if reader.outgoing else [_frequent_values(reader, column, source) for column in columns]
    return Section("columns", "Columns before and after" if source else "Published columns", sentences, parts)


def _summary_query(reader: ReleaseReader, columns: list[str], original: UnchangedSource | None) -> ReportQuery:
    """Return the query for one row per column: its numbers of distinct and missing values, before and after.

    Args:
        reader: The reader.
        columns: Columns of the source.
        source: The source; None if it is not shown. The rows then have only the numbers after.
    """

    def summary_sql(release: Sql, source: Sql | None) -> Sql:
        """Return the SQL of the query, given SQL of the release and of the source (None without one)."""
        column_queries = [
            {
                "label": text(column),
                "before": _as_text([column]),
                "missing_before": _missing([column]),
                "after": _as_text(published_columns(reader, column)),
                "missing_after": _missing(published_columns(reader, column)),
            }
            for column in columns
        ]
        return Sql(
            fill("publishing/report/columns.sql", columns=column_queries, release=release, source=source).strip()
        )

    if original is None:
        return reader.query(lambda at: summary_sql(at.release, None))
    return ReportQuery(
        summary_sql(reader.locations.release, original.display_sql),
        qualify_builtins(summary_sql(reader.full.release, original.executable_sql)),
    )


def _frequent_values(reader: ReleaseReader, column: str, source: UnchangedSource | None) -> AdjacentTables:
    """Return tables of the N_FREQUENT_VALUES most frequent values of a column, in the source and in the release.

    Without a source there is one table. Of the source, only values that at least k records (persons) share are shown.
    """
    tables: list[ResultTable] = []
    if source is not None:
        person = None if source.person is None else Sql(f"CAST({identifier(source.person)} AS VARCHAR)")
        source_query = ReportQuery(
            _most_frequent_sql(_as_text([column]), source.display_sql, reader.entry.k, person),
            qualify_builtins(_most_frequent_sql(_as_text([column]), source.executable_sql, reader.entry.k, person)),
        )
        tables.append(reader.table(f"{format_cell(column)}, before", ("value", "records"), source_query))
    names = published_columns(reader, column)
    release_query = reader.query(lambda at: _most_frequent_sql(_as_text(names), at.release, None, None))
    tables.append(reader.table(f"{format_cell(column)}, after", ("value", "records"), release_query))
    return AdjacentTables(tables)


def _most_frequent_sql(value: Sql, relation: Sql, min_count: int | None, person: Sql | None) -> Sql:
    """Return the query for the most frequent values in a relation, with their numbers of records.

    Args:
        value: SQL of the value.
        relation: The relation.
        min_count: The least number of records (persons) that must share a value; None for no limit.
        person: SQL of the person; None to count records.
    """
    return Sql(
        fill(
            "publishing/report/frequent_values.sql",
            value=value,
            of=relation,
            least=min_count,
            person=person,
            most=N_FREQUENT_VALUES,
        ).strip()
    )


def published_columns(reader: ReleaseReader, column: str) -> list[str]:
    """Return the columns of the release that show a column of the source.

    That is the column of the same name or, for a number that is published as two columns, those with the endings `_min`
    and `_max`; empty if there are none. Case is ignored.
    """
    names = {fold_case(name): name for name in reader.certificate.columns}
    ends = [names.get(fold_case(f"{column}{end}")) for end in ("_min", "_max")]
    same_name = names.get(fold_case(column))
    return [same_name] if same_name is not None else [end for end in ends if end is not None]


def _as_text(columns: list[str]) -> Sql:
    """Return SQL of the text of a published value; NULL if it is missing.

    `columns` is one column, or the two columns with the ends of an interval, which becomes '[low, high]'.
    """
    if len(columns) == 1:
        return Sql(f"CAST({identifier(columns[0])} AS VARCHAR) COLLATE POSIX")
    both = join_sql((f"coalesce(CAST({identifier(c)} AS VARCHAR), '')" for c in columns), " || ', ' || ")
    return Sql(f"CASE WHEN NOT ({_missing(columns)}) THEN '[' || {both} || ']' END COLLATE POSIX")


def _missing(columns: list[str]) -> Sql:
    """Return the SQL condition that all of the columns are NULL."""
    return join_sql((f"{identifier(c)} IS NULL" for c in columns), " AND ")
