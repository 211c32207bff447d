"""The report's sections about class sizes, and about classes in which one sensitive value is most frequent."""

from collections.abc import Sequence
from dataclasses import replace

from dbanon.publishing.recompute_queries import TableLocations, bytewise_column
from dbanon.publishing.report import svg
from dbanon.publishing.report.blocks import Block, PlotBlock, ReportQuery, ResultTable, Section, format_cell
from dbanon.publishing.report.queries import ReleaseReader
from dbanon.publishing.report.wording import count
from dbanon.source.column_types import label_text
from dbanon.sqltext.quote import Sql, identifier, join_sql
from dbanon.sqltext.templates import fill

N_SMALLEST_CLASSES = 10
"""Sizes of classes that are listed."""

N_WORST_CLASSES = 10
"""Classes of a sensitive column that are listed."""

N_FIRST_PAGE_CLASSES = 5
"""Classes of the first sensitive column that are listed before the appendix."""


def class_size_query(reader: ReleaseReader) -> ReportQuery:
    """Return the query for the number of classes and records by class size, in ascending order of size."""
    shape = reader.shape

    def query(at: TableLocations) -> Sql:
        """Return the query for the number of classes and records by class size, in ascending order of size."""
        return Sql(
            fill(
                "publishing/report/class_sizes.sql",
                release=at.release,
                classes=at.classes,
                cells=_class_columns(reader),
                size=identifier(shape.size),
                class_id=identifier(shape.class_id),
                persons=None if shape.persons is None else identifier(shape.persons),
            ).strip()
        )

    return reader.query(query)


def class_plots(reader: ReleaseReader) -> list[PlotBlock]:
    """Return the plots of class sizes and, if there is a sensitive column, of its most frequent values by class."""
    unit = "records" if reader.shape.persons is None else "people"
    query = class_size_query(reader)
    sizes = svg.count_histogram([(row[0], row[1]) for row in reader.rows(query)], f"{unit} in a class", "classes")
    plots = [PlotBlock(sizes, f"Classes by the number of {unit} in them.", [query.display_sql])]
    if reader.shape.sensitive:
        plots.append(_share_plot(reader, *reader.shape.sensitive[0]))
    return plots


def worst_classes(reader: ReleaseReader) -> ResultTable | None:
    """Return the worst classes of the first sensitive column; None without one."""
    if not reader.shape.sensitive:
        return None
    table = _worst_table(reader, *reader.shape.sensitive[0])
    rows = table.rows[:N_FIRST_PAGE_CLASSES]
    return replace(table, caption=_worst_caption(reader.shape.sensitive[0][0], len(rows)), rows=rows)


def class_size_section(reader: ReleaseReader) -> Section:
    """Return the section with the number of classes of each size, as a plot, and a table of the smallest sizes.

    The size of a class is its number of records, or of persons if persons are counted.
    """
    unit = "records" if reader.shape.persons is None else "distinct persons"

    size_query = class_size_query(reader)
    rows = reader.rows(size_query)
    sentences = [
        "A class contains all records with the same published quasi-identifiers. The smallest has "
        f"{format_cell(rows[0][0])} {unit}, the greatest {format_cell(rows[-1][0])}."
    ]
    if len(rows) > N_SMALLEST_CLASSES:
        sentences.append(
            f"The table has the {N_SMALLEST_CLASSES} smallest sizes of {format_cell(len(rows))}; the query gives all."
        )
    return Section(
        "sizes",
        "Class sizes",
        sentences,
        [
            ResultTable(
                "The smallest classes",
                (f"{unit} in a class", "classes", "records in all"),
                rows[:N_SMALLEST_CLASSES],
                size_query.display_sql,
            ),
        ],
    )


def homogeneity_section(reader: ReleaseReader) -> Section:
    """Return the section about the classes in which one value of a sensitive column has the greatest share.

    Without sensitive columns it has only a sentence that says so.
    """
    parts = [part for name, type_ in reader.shape.sensitive for part in _column_blocks(reader, name, type_)]
    if not parts:
        sentences = ["No column of the release is declared sensitive, so no value is protected within a class."]
        return Section("values", "Sensitive values of the worst classes", sentences)
    sentences = [
        "A reader who finds a person's class learns the share of each sensitive value in it. The greater the share of "
        "the most frequent value, the more certain a guess is: 100% is certainty. A missing value is not a guess."
    ]
    if reader.outgoing:
        sentences.append("The values and the classes are not named here.")
    return Section("values", "Sensitive values of the worst classes", sentences, parts)


def _column_blocks(reader: ReleaseReader, name: str, type_: str) -> list[Block]:
    """Return the plot and the table for one sensitive column; the plot of the first one is before the appendix.

    The plot shows the records by the share of the most frequent value in their class, the table the classes with the
    greatest share. In a page for recipients, the table names neither values nor classes.
    """
    table = _worst_table(reader, name, type_)
    return [table] if name == reader.shape.sensitive[0][0] else [_share_plot(reader, name, type_), table]


def _share_plot(reader: ReleaseReader, name: str, type_: str) -> PlotBlock:
    """Return the plot of the records by the share of the most frequent value in their class."""
    share_counts = reader.query(lambda at: _leading_value_sql(reader, at, name, type_, "counted"))
    svg_text = svg.share_histogram(
        [(row[0], row[2]) for row in reader.rows(share_counts)], "share of the most frequent value", "records"
    )
    caption = f"Records by the share of the most frequent value of {format_cell(name)} in their class."
    return PlotBlock(svg_text, caption, [share_counts.display_sql])


def _worst_table(reader: ReleaseReader, name: str, type_: str) -> ResultTable:
    """Return the classes of a sensitive column in which one value has the greatest share."""
    with_values = not reader.outgoing
    worst = reader.query(lambda at: _leading_value_sql(reader, at, name, type_, "named" if with_values else "plain"))
    head: Sequence[str] = ("records", "different values", "share of the most frequent")
    if with_values:
        quasi = [column for column, _ in reader.shape.quasi]
        head = (*quasi, "records", "different values", "most frequent value", "its share")
    table = reader.table("", head, worst)
    return replace(table, caption=_worst_caption(name, len(table.rows)), shares=(len(head) - 1,))


def _worst_caption(name: str, n_classes: int) -> str:
    """Return the caption of a table of the classes in which one value of a sensitive column has the greatest share."""
    return f"{format_cell(name)}: {count(n_classes, 'class', 'classes')} with the greatest share of one value"


def _leading_value_sql(reader: ReleaseReader, tables: TableLocations, name: str, type_: str, form: str) -> Sql:
    """Return the query about the share of the most frequent sensitive value in each class; NULL is no value.

    Args:
        reader: The reader.
        tables: The names of the tables.
        name: The sensitive column.
        type_: Its type.
        form: "counted": the number of classes and records by share; "named": the N_WORST_CLASSES classes with the
            greatest share, with quasi-identifiers and value; "plain": these classes without them.
    """
    quasi = reader.shape.quasi
    return Sql(
        fill(
            "publishing/report/leading_values.sql",
            release=tables.release,
            cells=_class_columns(reader),
            value=Sql(f"{label_text(identifier(name), type_)} COLLATE POSIX"),
            names=[identifier(column) for column, _ in quasi],
            cast=[Sql(f"CAST({identifier(column)} AS VARCHAR) COLLATE POSIX") for column, _ in quasi],
            counted=form == "counted",
            named=form == "named",
            most=N_WORST_CLASSES,
        ).strip()
    )


def _class_columns(reader: ReleaseReader) -> Sql:
    """Return the published quasi-identifiers as SQL, separated by commas, for GROUP BY."""
    return join_sql(bytewise_column(*column) for column in reader.shape.quasi)
