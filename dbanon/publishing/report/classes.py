"""Class sizes, and the classes in which one sensitive value leads most."""

from collections.abc import Sequence

from dbanon.publishing.recompute_queries import Place, compared
from dbanon.publishing.report import svg
from dbanon.publishing.report.blocks import Part, Plot, Section, Table, shown
from dbanon.publishing.report.queries import Asking
from dbanon.source.column_types import label_text
from dbanon.sqltext.quote import Sql, identifier, join_sql
from dbanon.sqltext.templates import fill

SMALLEST = 10
"""Sizes of classes that are listed."""

WORST = 10
"""Classes of a sensitive column that are listed."""


def sizes(asking: Asking) -> Section:
    """How many classes have how many records (persons)."""
    shape = asking.shape
    unit = "records" if shape.persons is None else "distinct persons"

    def query(at: Place) -> Sql:
        return Sql(
            fill(
                "publishing/report/class_sizes.sql",
                release=at.release,
                classes=at.classes,
                cells=_cells(asking),
                size=identifier(shape.size),
                class_id=identifier(shape.class_id),
                persons=None if shape.persons is None else identifier(shape.persons),
            ).strip()
        )

    asked = asking.of(query)
    rows = asking.rows(asked)
    said = [
        f"A class is all records with the same published quasi-identifiers. The smallest has {shown(rows[0][0])} "
        f"{unit}, the greatest {shown(rows[-1][0])}."
    ]
    if len(rows) > SMALLEST:
        said.append(f"The table has the {SMALLEST} smallest sizes of {shown(len(rows))}; the query gives all.")
    head = (f"{unit} in a class", "classes", "records in all")
    drawn = svg.counts([(row[0], row[1]) for row in rows], f"{unit} in a class", "classes")
    return Section(
        "sizes",
        "Class sizes",
        said,
        [
            Plot(drawn, f"Classes by the number of {unit} in them.", [asked.shown]),
            Table(
                "The smallest classes",
                head,
                rows[:SMALLEST],
                asked.shown,
            ),
        ],
    )


def leading(asking: Asking) -> Section:
    """Of each sensitive column, the classes whose most frequent value has the greatest share."""
    parts = [part for name, type_ in asking.shape.sensitive for part in _of(asking, name, type_)]
    if not parts:
        said = ["No column of the release is declared sensitive, so that no value is said to be protected in a class."]
        return Section("values", "Sensitive values of the worst classes", said)
    said = [
        "Who finds somebody's class learns the share that each sensitive value has in it. The greater the share of the "
        "most frequent one, the surer the guess: 1 is certainty. A missing value is no guess."
    ]
    if asking.outgoing:
        said.append("Which values and which classes these are is not named here.")
    return Section("values", "Sensitive values of the worst classes", said, parts)


def _of(asking: Asking, name: str, type_: str) -> list[Part]:
    """Return the plot and the table of one column."""
    counted = asking.of(lambda at: _leading(asking, at, name, type_, "counted"))
    drawn = svg.shares(
        [(row[0], row[2]) for row in asking.rows(counted)], "share of the most frequent value", "records"
    )
    named = not asking.outgoing
    worst = asking.of(lambda at: _leading(asking, at, name, type_, "named" if named else "plain"))
    head: Sequence[str] = ("records", "different values", "share of the most frequent")
    if named:
        quasi = [column for column, _ in asking.shape.quasi]
        head = (*quasi, "records", "different values", "most frequent value", "its share")
    return [
        Plot(drawn, f"Records by the share of the most frequent value of {shown(name)} in their class.",
             [counted.shown]),
        asking.table(f"{shown(name)}: the {WORST} classes in which one value leads most", head, worst),
    ]  # fmt: skip


def _leading(asking: Asking, at: Place, name: str, type_: str, form: str) -> Sql:
    quasi = asking.shape.quasi
    return Sql(
        fill(
            "publishing/report/leading_values.sql",
            release=at.release,
            cells=_cells(asking),
            value=Sql(f"{label_text(identifier(name), type_)} COLLATE POSIX"),
            names=[identifier(column) for column, _ in quasi],
            cast=[Sql(f"CAST({identifier(column)} AS VARCHAR) COLLATE POSIX") for column, _ in quasi],
            counted=form == "counted",
            named=form == "named",
            most=WORST,
        ).strip()
    )


def _cells(asking: Asking) -> Sql:
    return join_sql(compared(*column) for column in asking.shape.quasi)
