"""The report's sections about class sizes, and about classes in which one sensitive value is most frequent."""

from collections.abc import Sequence

from dbanon.publishing.recompute_queries import TableLocations, bytewise_column
from dbanon.publishing.report import svg
from dbanon.publishing.report.blocks import Block, PlotBlock, ResultTable, Section, format_cell
from dbanon.publishing.report.queries import ReleaseReader
from dbanon.source.column_types import label_text
from dbanon.sqltext.quote import Sql, identifier, join_sql
from dbanon.sqltext.templates import fill

N_SMALLEST_CLASSES = 10
"""Sizes of classes that are listed."""

N_WORST_CLASSES = 10
"""Classes of a sensitive column that are listed."""


def class_size_section(reader: ReleaseReader) -> Section:
    """Return the section with the number of classes of each size, as a plot, and a table of the smallest sizes.

    The size of a class is its number of records, or of persons if persons are counted.
    """
    shape = reader.shape
    unit = "records" if shape.persons is None else "distinct persons"

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

    size_query = reader.query(query)
    rows = reader.rows(size_query)
    sentences = [
        f"A class is all records with the same published quasi-identifiers. The smallest has {format_cell(rows[0][0])} "
        f"{unit}, the greatest {format_cell(rows[-1][0])}."
    ]
    if len(rows) > N_SMALLEST_CLASSES:
        sentences.append(
            f"The table has the {N_SMALLEST_CLASSES} smallest sizes of {format_cell(len(rows))}; the query gives all."
        )
    head = (f"{unit} in a class", "classes", "records in all")
    svg_text = svg.count_histogram([(row[0], row[1]) for row in rows], f"{unit} in a class", "classes")
    return Section(
        "sizes",
        "Class sizes",
        sentences,
        [
            PlotBlock(svg_text, f"Classes by the number of {unit} in them.", [size_query.display_sql]),
            ResultTable(
                "The smallest classes",
                head,
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
        sentences = [
            "No column of the release is declared sensitive, so that no value is said to be protected in a class."
        ]
        return Section("values", "Sensitive values of the worst classes", sentences)
    sentences = [
        "Who finds somebody's class learns the share that each sensitive value has in it. The greater the share of the "
        "most frequent one, the surer the guess: 1 is certainty. A missing value is no guess."
    ]
    if reader.outgoing:
        sentences.append("Which values and which classes these are is not named here.")
    return Section("values", "Sensitive values of the worst classes", sentences, parts)


def _column_blocks(reader: ReleaseReader, name: str, type_: str) -> list[Block]:
    """Return the plot and the table for one sensitive column.

    The plot shows the records by the share of the most frequent value in their class, the table the classes with the
    greatest share. In a page for recipients, the table names neither values nor classes.
    """
    share_counts = reader.query(lambda at: _leading_value_sql(reader, at, name, type_, "counted"))
    svg_text = svg.share_histogram(
        [(row[0], row[2]) for row in reader.rows(share_counts)], "share of the most frequent value", "records"
    )
    with_values = not reader.outgoing
    worst = reader.query(lambda at: _leading_value_sql(reader, at, name, type_, "named" if with_values else "plain"))
    head: Sequence[str] = ("records", "different values", "share of the most frequent")
    if with_values:
        quasi = [column for column, _ in reader.shape.quasi]
        head = (*quasi, "records", "different values", "most frequent value", "its share")
    return [
        PlotBlock(svg_text, f"Records by the share of the most frequent value of {format_cell(name)} in their class.",
             [share_counts.display_sql]),
        reader.table(f"{format_cell(name)}: the {N_WORST_CLASSES} classes in which one value leads most", head, worst),
    ]  # fmt: skip


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
