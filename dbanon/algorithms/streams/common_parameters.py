"""The parameters that all stream systems have in common."""

from dataclasses import replace

from dbanon.algorithms.base.common_parameters import COMMON as OF_TABLES
from dbanon.table_functions.parameter_types import Choice, Columns, Integer
from dbanon.table_functions.parameters import Parameter

_SHARED_NAMES = (
    "qi", "sensitive", "hierarchies", "person", "missing_codes", "intervals", "insensitive", "identifier",
    "withhold", "allow_rare", "min_level", "top", "bottom", "rounding", "coarsen", "escape_labels", "weights",
)  # fmt: skip
"""Parameters that have the same meaning for a stream as for a table, in addition to k."""

_TABLE_PARAMETERS = {p.name: p for p in OF_TABLES}

DELTA = Parameter(
    "delta",
    Integer(2, 10**9),
    "Number of arrivals, the record itself counted, after which a record is published: its delay is at most delta - 1. "
    "For `fads` with `trigger` 'size', the number of pending records after which the oldest is published.",
    required=True,
    example="delta = 1000",
)

ORDER_BY = Parameter(
    "order_by",
    Columns(),
    "Columns that give the order of arrival, such as a time; records with equal values are ordered by hashes of "
    "everything that is read.",
    required=True,
    example="order_by = 'ts'",
)

COMMON: tuple[Parameter, ...] = (
    replace(
        _TABLE_PARAMETERS["k"],
        doc="Least number of records (of persons, if a person column is declared) that a class has when it is first "
        "published; others may join it later.",
    ),
    DELTA,
    ORDER_BY,
    Parameter(
        "l",
        Integer(2),
        "Least number of distinct values of each sensitive column in a class when it is first published.",
    ),
    *(_TABLE_PARAMETERS[name] for name in _SHARED_NAMES),
    Parameter(
        "suppress",
        Choice(("root", "drop")),
        "Treatment of a record for which no class is found in time: root: a row with * for every quasi-identifier "
        "and NULL for all else; drop: no row, the record is only counted.",
        "root",
    ),
    Parameter(
        "nulls",
        Choice(("keep", "error")),
        "Treatment of NULL in a quasi-identifier: keep it as a value of its own, or report an error.",
        "keep",
    ),
)
"""`suppress` is a word here, not a share: how many records are suppressed follows from delta."""

N_COMMON_FIRST = 4
"""The number of common parameters before the algorithm's own: DuckDB understands `=` for the first ones."""
