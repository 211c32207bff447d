"""The table functions: names, arguments, parameters. Macros, validation and documentation follow from this."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache

from dbanon.audit import anonymity, threats
from dbanon.cluster import algorithms, find
from dbanon.functions import arguments
from dbanon.functions.parameter_types import (
    SEEDS,
    Choice,
    Columns,
    Flag,
    Integer,
    Integers,
    PerColumn,
    Real,
    Text,
    Words,
)
from dbanon.functions.parameters import COMMON, Parameter
from dbanon.learn import forest

KINDS = {"": "release", "_classes": "classes", "_metrics": "metrics"}
"""Endings of an algorithm's three functions, and the statement behind each."""

MOST_CAPTURED = 10
"""Binding a call doubles with each captured name."""

DATE_LEVELS = ("day", "month", "quarter", "year", "decade", "century")


@dataclass(frozen=True)
class TableFunction:
    """One table function. `algorithm` and `kind` are set for those that publish."""

    name: str
    positional: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    doc: str
    algorithm: str | None = None
    kind: str | None = None

    @property
    def captured(self) -> tuple[str, ...]:
        """Parameters that `=` is understood for with any value; those of texts take it anyway."""
        names = tuple(p.name for p in self.parameters)
        if self.kind:
            return tuple(n for n in (*arguments.CAPTURED, "support") if n in names)
        if len(names) <= MOST_CAPTURED:
            return names
        return tuple(p.name for p in self.parameters if not isinstance(p.kind, Text | Choice))[:MOST_CAPTURED]


_GIVES = {
    "release": "The released rows: quasi-identifiers generalized, then class_id.",
    "classes": "One row an equivalence class: size, published values, loss, sensitive values with counts.",
    "metrics": "One row a measure: metric, value, better ('higher' or 'lower'), description, published (whether it "
    "follows from the released rows alone; the others are the custodian's).",
    "inference": "Published values that narrow a class's quasi-identifiers below what is published (prostate cancer "
    "and sex). It shows raw values: for the custodian, before a release.",
}


_DIVERGENCE = Parameter(
    "divergence", Flag(), "Also kl_divergence, which may take longer than all other measures together.", False
)
_SUPPORT = Parameter(
    "support",
    Integer(1),
    "Values of fewer records (persons) of the table are left out, as they say little; default k.",
)
_OF_KIND = {"metrics": (_DIVERGENCE,), "inference": (_SUPPORT,)}
"""Parameters that only functions of one kind have."""


def _publishing() -> list[TableFunction]:
    return [
        TableFunction(
            a.name + ending, ("tbl",), a.parameters + _OF_KIND.get(kind, ()), f"{a.title}. {_GIVES[kind]}", a.name, kind
        )
        for a in algorithms()
        for ending, kind in KINDS.items()
    ]


_GENERIC = {f"anonymize{ending}": kind for ending, kind in KINDS.items()} | {"inference": "inference"}
"""Functions that take the algorithm as a parameter, and the statement behind each."""

_ALGORITHM = Parameter("algorithm", Text("an algorithm's name"), "The algorithm that makes the classes.", "kacpc")


def _generic(name: str, algorithm: str | None) -> TableFunction:
    """A generic function with the parameters of one algorithm; None: of all."""
    own = {p.name: p for a in algorithms() if algorithm in (None, a.name) for p in a.parameters}
    own |= {p.name: p for p in COMMON if algorithm is None}
    kind = _GENERIC[name]
    first = (_ALGORITHM, *_OF_KIND.get(kind, ()))
    return TableFunction(name, ("tbl",), (*first, *own.values()), _GIVES[kind], algorithm, kind)


def called(name: str, given: Mapping[str, object]) -> TableFunction:
    """The function of a name; of a generic one the form for the algorithm that is given, or UnknownAlgorithm."""
    algorithm = given.get("algorithm")
    if name not in _GENERIC or not isinstance(algorithm or "kacpc", str):
        return table_functions()[name]
    return _generic(name, find(str(algorithm or "kacpc").lower()).name)


_INFLUENCE = ("qi", "sensitive", "hierarchies", "nulls", "withhold", "min_level", "top", "bottom", "escape")
"""Common parameters of influence."""

_HIERARCHY = Parameter("hierarchy", Text("a hierarchy's name"), "Instead of the declared one.")

_HELPERS = (
    TableFunction(
        "algorithms",
        (),
        (),
        "The registered algorithms: family, source, evidence, complexity, models met by their own means, parameters.",
    ),
    TableFunction(
        "policy_problems",
        (),
        (),
        "What is wrong in dbanon.policy: unknown tables, columns, roles, hierarchies; identifiers that may be persons.",
    ),
    TableFunction("releases", (), (), "The ledger: every version of every materialized anonymized view."),
    TableFunction(
        "release_status",
        (),
        (),
        "Published releases beside their sources: fresh or stale, records that came, went and changed, changed policy.",
    ),
    TableFunction(
        "delta_problems",
        ("release",),
        (),
        "Classes of the published version that a refresh would change by too few records (persons).",
    ),
    TableFunction(
        "composition",
        ("a", "b"),
        tuple(Parameter(f"version_{p}", Integer(1), f"Which version of {p}; default the latest.") for p in "ab"),
        "People whose candidate set over two releases falls below k, or whose sensitive values below l; they may be in "
        "one of the two only.",
    ),
    TableFunction(
        "certificate",
        ("release",),
        (),
        "What a release is: source, roles, parameters, model, achieved values, risks, limits; SQL for each number.",
    ),
    TableFunction(
        "profile",
        ("tbl",),
        (),
        "One row a column: what it tells about people, alone and with others, and a proposed role and hierarchy.",
    ),
    TableFunction(
        "query_error",
        ("release", "source"),
        (
            Parameter("queries", Integer(1, 10**6), "How many random queries, one to three predicates in turn.", 1000),
            Parameter("seed", Integer(0, SEEDS), "Another seed, other queries.", 1),
            Parameter(
                "qi", Columns(), "Columns of the predicates; default: declared quasi-identifiers that were released."
            ),
            Parameter("hierarchies", PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"), "As in the release."),
            Parameter(
                "selectivity",
                Real(0, 1, above=True),
                "Share of the records that a query selects, were the columns independent.",
                0.1,
            ),
            Parameter(
                "sanity",
                Real(0, 1, above=True),
                "Least divisor of an error: this share of all records (of an averaged column: of its range).",
                0.001,
            ),
        ),
        "Relative error of random counts and averages on a release against its source, by number of predicates.",
    ),
    TableFunction(
        "influence",
        ("tbl",),
        (
            *(p for p in COMMON if p.name in _INFLUENCE),
            forest.SCORE,
            *forest.PARAMETERS,
            Parameter("seed", Integer(0, SEEDS), "Another seed, other samples.", 0),
        ),
        "What each quasi-identifier tells of each sensitive column: drop in a random forest's accuracy when it is "
        "shuffled. Computed once for the same data and parameters; weights = 'influence' uses it.",
    ),
    TableFunction("hierarchies", (), (), "The hierarchies that can be named: stored ones and shipped ones."),
    TableFunction("hierarchy_problems", (), (), "Stored hierarchies that are not one tree, and why."),
    TableFunction(
        "uncovered",
        ("tbl", "col"),
        (_HIERARCHY,),
        "Values of a column that its hierarchy misses, or that a reader could not tell from generalized ones.",
    ),
    TableFunction("hierarchy_file", ("name", "path"), (), "Rows of a hierarchy in an ARX file, value;level1;...;*."),
    TableFunction("hierarchy_shipped", ("name",), (), "Rows of a hierarchy that comes with dbanon."),
    TableFunction("hierarchy_arx", ("name",), (), "Lines of an ARX file for a stored hierarchy; COPY them out."),
    TableFunction("hierarchy_flat", ("name", "tbl", "col"), (), "Rows of a flat hierarchy: a column's values under *."),
    TableFunction(
        "hierarchy_prefix",
        ("name", "tbl", "col"),
        (
            Parameter(
                "keep",
                Integers(1, descending=True),
                "Characters kept on each level, such as [4, 3]; default: one less on every level.",
            ),
        ),
        "Rows of a hierarchy that masks text from the right: 02138, 0213*, 021**, *.",
    ),
    TableFunction(
        "hierarchy_intervals",
        ("name", "tbl", "col"),
        (
            Parameter(
                "widths",
                Integers(1, descending=False, high=2**63 - 1),
                "Widths of the intervals on each level, each a multiple of the one before.",
                required=True,
                example="widths = [5, 10, 20]",
            ),
        ),
        "Rows of a hierarchy of nested numeric intervals that begin at multiples of their width.",
    ),
    TableFunction(
        "hierarchy_dates",
        ("name", "tbl", "col"),
        (
            Parameter(
                "levels",
                Words(DATE_LEVELS),
                "Calendar levels from fine to coarse.",
                ("month", "quarter", "year", "decade"),
            ),
        ),
        "Rows of a calendar hierarchy of dates.",
    ),
)


@cache
def table_functions() -> dict[str, TableFunction]:
    """All table functions by name."""
    measures = (TableFunction(f.name, ("tbl",), f.parameters, f.doc) for f in anonymity.FUNCTIONS)
    threatening = (TableFunction(f.name, ("release",), f.parameters, f.doc) for f in (*threats.RISKS, *threats.ATTACKS))
    generic = (_generic(name, None) for name in _GENERIC)
    return {f.name: f for f in (*_publishing(), *generic, *_HELPERS, *measures, *threatening)}


__all__ = ["DATE_LEVELS", "KINDS", "TableFunction", "called", "table_functions"]
