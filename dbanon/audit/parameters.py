"""Parameters shared by the functions that measure a release: source, columns, classes and hierarchies."""

from collections.abc import Iterable
from dataclasses import replace

from dbanon.source.catalog import Source
from dbanon.sqltext.quote import Sql, join_sql, text
from dbanon.table_functions.parameter_types import Choice, Columns, PerColumn, Text
from dbanon.table_functions.parameters import Parameter

SOURCE = Parameter(
    "source",
    Text("a table's name"),
    "The table that was released, whose policy declares the roles of the columns; default: that of the ledger, "
    "otherwise the release itself.",
)
QI = Parameter(
    "qi", Columns(), "The columns whose equal values form the classes; default: the declared quasi-identifiers."
)
SENSITIVE = Parameter(
    "sensitive", Columns(), "The columns that are measured; default: the declared sensitive columns that were released."
)
PERSON = Parameter(
    "person",
    Text("a column name"),
    "A column of the release: distinct persons are counted instead of records; default: the declared one, if released.",
)
CLASSES = Parameter(
    "classes",
    Choice(("published", "cluster")),
    "What a class is: records with equal published values, as a reader sees them, or clusters, by the column class_id.",
    "published",
)
SUPPRESSED = Parameter(
    "suppressed",
    Text("a text, such as '*'"),
    "The value of every quasi-identifier in the rows that another tool suppressed, such as '*': these rows are not "
    "counted.",
)
HIERARCHIES = Parameter(
    "hierarchies",
    PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"),
    "Hierarchy of a column: a name, or ARX rows as text; default: the declared one.",
)


def without_suppressed(release: Source, quasi_values: Iterable[Sql], suppressed: str | None) -> Source:
    """Return a release without the rows that another tool suppressed.

    Args:
        release: The release.
        quasi_values: SQL of its quasi-identifiers.
        suppressed: The value of the parameter; None if it is not given, and then the release is returned.
    """
    if suppressed is None:
        return release
    texts = (f"CAST({value} AS VARCHAR) COLLATE POSIX" for value in quasi_values)
    is_suppressed = join_sql((Sql(f"({value}) IS NOT DISTINCT FROM {text(suppressed)}") for value in texts), " AND ")
    return replace(release, cleaned=Sql(f"(SELECT * FROM {release.rows} WHERE NOT ({is_suppressed}))"))
