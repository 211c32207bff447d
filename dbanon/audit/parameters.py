"""Parameters shared by the functions that measure a release: source, columns, classes and hierarchies."""

from dbanon.table_functions.parameter_types import Choice, Columns, PerColumn, Text
from dbanon.table_functions.parameters import Parameter

SOURCE = Parameter(
    "source",
    Text("a table's name"),
    "The table that was released, whose policy says what the columns are; default: by the ledger, else the release.",
)
QI = Parameter("qi", Columns(), "The columns whose values make the classes; default: the declared quasi-identifiers.")
SENSITIVE = Parameter(
    "sensitive", Columns(), "The columns that are judged; default: the declared sensitive ones that were released."
)
PERSON = Parameter(
    "person",
    Text("a column name"),
    "A column of the release: distinct persons are counted instead of records; default: the declared one, if released.",
)
CLASSES = Parameter(
    "classes",
    Choice(("published", "cluster")),
    "A class: records of equal published values, as a reader sees them, or clusters, by the column class_id.",
    "published",
)
HIERARCHIES = Parameter(
    "hierarchies",
    PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"),
    "Hierarchy of a column: a name, or ARX rows as text; default: the declared one.",
)
