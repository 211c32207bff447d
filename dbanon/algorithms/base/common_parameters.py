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
    PerColumn,
    Text,
    Weight,
)
from dbanon.table_functions.parameters import Parameter

OBJECTIVES = {"precision": None, "ncp": "leaves", "sse": None}
"""Metrics that a search can lower, and how the height of hierarchy nodes is then measured (None: as `loss_height`
says). For sse, which is of numbers only, see dbanon.algorithms.microaggregation.annealing."""

K = Parameter(
    "k",
    Integer(2),
    "Least number of records (of persons, if a person column is declared) in every equivalence class.",
    required=True,
    example="k = 10",
)

COMMON: tuple[Parameter, ...] = (
    K,
    Parameter("qi", Columns(), "Quasi-identifiers, in order; declared ones that are left out are withheld."),
    Parameter("sensitive", Columns(), "Sensitive columns, published unchanged."),
    Parameter(
        "hierarchies",
        PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"),
        "Hierarchy of a column: a stored or shipped one by name, or ARX rows as text, 'M;*\\nF;*'.",
    ),
    Parameter("person", Text("a column name"), "The column that tells data subjects apart; withheld."),
    Parameter(
        "weights",
        PerColumn(Weight(), "{'age': 2}", ("influence",)),
        "Weight of a column in distances; default 1. influence: what it tells of the sensitive columns, as influence() "
        "with its default settings, over the average, times the declared weight.",
    ),
    Parameter(
        "nulls",
        Choice(("keep", "drop", "error")),
        "NULL in a quasi-identifier: a value of its own, a reason to leave the row out (reported), or an error.",
        "keep",
    ),
    Parameter(
        "missing_codes",
        ForColumns(Codes(), "{'age': ['999']}"),
        "Codes that stand for a missing value and are read as NULL, beside those of the policy.",
    ),
    Parameter(
        "intervals",
        Choice(("text", "bounds", "struct")),
        "How ranges are published: '[25, 29]', two typed columns age_min and age_max, or a struct of both.",
        "text",
    ),
    Parameter("insensitive", Columns(), "Columns that are neither, published unchanged; rare values are refused."),
    Parameter("identifier", Columns(), "Columns that identify people directly; withheld."),
    Parameter("withhold", Columns(), "Columns to leave out of this release."),
    Parameter("allow_rare", Columns(), "Columns with the role insensitive whose values below k are accepted."),
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
        "Interval ends snap outward to multiples of a number, or to day, week, month, quarter, year, decade; 'none'.",
    ),
    Parameter(
        "coarsen",
        PerColumn(NumberOrDate(), "{'age': 10, 'zip': 2}"),
        "Publish less closely than records allow: of a number or a date, its grid; of a category, only inner nodes "
        "whose number of steps from the root is a multiple of this.",
    ),
    *registry.parameters(),
    Parameter(
        "multi_sensitive",
        Choice(("independent", "joint")),
        "Several sensitive columns: each judged in the whole class (default), or within equal values of the others.",
    ),
    Parameter(
        "max_partition",
        Integer(2),
        "For large tables: cut into cells of at most so many different combinations of quasi-identifiers, along the "
        "widest column at its median, and cluster each for itself. Faster, and loses more; default: one cell.",
    ),
    Parameter(
        "suppress",
        Float(0, 1),
        "Greatest share of the records that may be left out as outliers where that lowers the average loss of the "
        "others; reported in metrics and classes.",
        0.0,
    ),
    Parameter(
        "improve",
        MoveCount(),
        "Moves of a local search that lowers the loss of the finished classes while the whole model keeps holding; "
        "20000 is a good start. In materialize, anonymize and the command line also a time, '5s'.",
    ),
    Parameter(
        "objective",
        Choice(tuple(OBJECTIVES)),
        "What a search (`best`, improve) lowers: what precision counts; ncp, by shares of leaves, as ARX does; or sse, "
        "the squared distances of microaggregation, where all quasi-identifiers are numbers (the measure sse_share).",
        "precision",
    ),
    Parameter(
        "escape_labels", Boolean(), "Accept values that equal '*' or an inner label; publish them as \\value.", False
    ),
    Parameter(
        "loss_height",
        Choice(("top", "sub")),
        "Height of an inner node in the loss: from the root down, or of its own subtree (KACPC paper, Eq. 1).",
        "top",
    ),
)
