"""The parameters that all algorithms have in common; those of the privacy models come from the models."""

from dbanon.privacy_models import registry
from dbanon.table_functions.parameter_types import (
    Boolean,
    Choice,
    Codes,
    Columns,
    Float,
    ForColumns,
    Integer,
    MoveCount,
    NumberOrDate,
    Objective,
    PerColumn,
    Text,
    Weight,
)
from dbanon.table_functions.parameters import Parameter

K = Parameter(
    "k",
    Integer(2),
    "Least number of records (of persons, if a person column is declared) in every equivalence class.",
    required=True,
    example="k = 10",
)

COMMON: tuple[Parameter, ...] = (
    K,
    Parameter("qi", Columns(), "Quasi-identifiers, in order; declared quasi-identifiers that you omit are withheld."),
    Parameter("sensitive", Columns(), "Sensitive columns, published unchanged."),
    Parameter(
        "hierarchies",
        PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"),
        "Hierarchy of a column: a stored or built-in one by name, or ARX rows as text, 'M;*\\nF;*'.",
    ),
    Parameter(
        "person", Text("a column name"), "The column that distinguishes persons (data subjects); it is withheld."
    ),
    Parameter(
        "weights",
        PerColumn(Weight(), "{'age': 2}", ("influence",)),
        "Weight of a column in distances; default 1. influence: its influence on the sensitive columns, as measured "
        "by influence() with its default settings, divided by the average, times the declared weight.",
    ),
    Parameter(
        "nulls",
        Choice(("keep", "drop", "error")),
        "Treatment of NULL in a quasi-identifier: keep it as a value of its own, drop the row (reported in the "
        "metrics), or report an error.",
        "keep",
    ),
    Parameter(
        "missing_codes",
        ForColumns(Codes(), "{'age': ['999']}"),
        "Codes that mean a missing value and are read as NULL, in addition to those of the policy.",
    ),
    Parameter(
        "intervals",
        Choice(("text", "bounds", "struct")),
        "Form in which ranges are published: text such as '[25, 29]', two typed columns age_min and age_max, or a "
        "struct of both.",
        "text",
    ),
    Parameter(
        "insensitive",
        Columns(),
        "Columns that are neither quasi-identifiers nor sensitive; they are "
        "published unchanged, and rare values are refused.",
    ),
    Parameter("identifier", Columns(), "Columns that identify people directly; they are withheld."),
    Parameter("withhold", Columns(), "Columns to omit from this release."),
    Parameter("allow_rare", Columns(), "Columns with the role insensitive whose values may occur fewer than k times."),
    Parameter(
        "min_level", PerColumn(Integer(0), "{'zip': 1}"), "Least number of steps up the hierarchy for every value."
    ),
    Parameter(
        "max_level", PerColumn(Integer(0), "{'zip': 2}"), "Greatest number of steps up the hierarchy for any value."
    ),
    Parameter("top", PerColumn(NumberOrDate(), "{'age': 90}"), "Values above are published as >= top."),
    Parameter("bottom", PerColumn(NumberOrDate(), "{'age': 18}"), "Values below are published as <= bottom."),
    Parameter(
        "rounding",
        PerColumn(NumberOrDate(), "{'age': 5, 'born': 'year'}"),
        "Grid to which the ends of intervals are extended: multiples of a number, or day, week, month, quarter, "
        "year, decade; 'none' for no grid.",
    ),
    Parameter(
        "coarsen",
        PerColumn(NumberOrDate(), "{'age': 10, 'zip': 2}"),
        "Publish more coarsely than the records need: for a number or a date, a grid; for a category, only inner "
        "nodes whose number of steps from the root is a multiple of this.",
    ),
    *registry.parameters(),
    Parameter(
        "multi_sensitive",
        Choice(("independent", "joint")),
        "How several sensitive columns are checked: each in the whole class (default), or within equal values of the "
        "others.",
    ),
    Parameter(
        "max_partition",
        Integer(2),
        "For large tables: greatest number of distinct combinations of quasi-identifiers in a cell. The table is cut "
        "along the widest column at its median, and each cell is clustered separately. This is faster and loses "
        "more; default: one cell.",
    ),
    Parameter(
        "suppress",
        Float(0, 1),
        "Greatest share of the records that may be suppressed, as whole classes or single outliers, if that lowers the "
        "average loss of the others, or if max_level separates them; reported in metrics and classes.",
        0.0,
    ),
    Parameter(
        "improve",
        MoveCount(),
        "Number of moves of a local search that lowers the loss of the finished classes and keeps the whole model; "
        "20000 is a good start. In create_release, anonymize, materialized views and the command line, also a time "
        "such as '5s'.",
    ),
    Parameter(
        "objective",
        Objective(),
        "The loss that a search (`best`, improve) lowers: precision, the loss that the metric precision counts; ncp, "
        "by shares of leaves; or sse, the squared distances of microaggregation, if all quasi-identifiers "
        "are numbers or dates (metric sse_share). A struct or map lowers a weighted mean of precision and ncp.",
        "precision",
    ),
    Parameter(
        "leaves",
        Choice(("all", "used")),
        "Leaves of hierarchies that the metrics ncp and gcp and the objective ncp count: all, so that the metrics "
        "follow from the release and its hierarchies; or used, those with values in the table, as in ARX.",
        "all",
    ),
    Parameter(
        "escape_labels", Boolean(), "Accept values that equal '*' or an inner label; publish them as \\value.", False
    ),
    Parameter(
        "loss_height",
        Choice(("top", "sub")),
        "Height of an inner node in the loss: counted from the root, or that of its own subtree (KACPC paper, Eq. 1).",
        "top",
    ),
)
