"""The parameters of the table functions, as data; what their values must be is in dbanon.functions.parameter_types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.functions.parameter_types import (
    Choice,
    Columns,
    Flag,
    Integer,
    Kind,
    Moves,
    PerColumn,
    Real,
    Scalar,
    Text,
    Weight,
)


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, what it accepts, its default and one sentence for the documentation."""

    name: str
    kind: Kind
    doc: str
    default: object = None
    required: bool = False
    example: str = ""


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
        "intervals",
        Choice(("text", "bounds", "struct")),
        "How ranges are published: '[25, 29]', two typed columns age_min and age_max, or a struct of both.",
        "text",
    ),
    Parameter("other", Columns(), "Columns that are neither, published unchanged; rare values are refused."),
    Parameter("identifier", Columns(), "Columns that identify people directly; withheld."),
    Parameter("withhold", Columns(), "Columns to leave out of this release."),
    Parameter("allow_rare", Columns(), "Columns of role other whose values below k are accepted."),
    Parameter(
        "min_level", PerColumn(Integer(0), "{'zip': 1}"), "Least number of steps up the hierarchy for every value."
    ),
    Parameter(
        "max_level", PerColumn(Integer(0), "{'zip': 2}"), "Greatest number of steps up the hierarchy for any value."
    ),
    Parameter("top", PerColumn(Scalar(), "{'age': 90}"), "Values above are published as >= top."),
    Parameter("bottom", PerColumn(Scalar(), "{'age': 18}"), "Values below are published as <= bottom."),
    Parameter(
        "grid",
        PerColumn(Scalar(), "{'age': 5, 'born': 'year'}"),
        "Interval ends snap outward to multiples of a number, or to day, week, month, quarter, year, decade; 'none'.",
    ),
    Parameter(
        "round",
        PerColumn(Scalar(), "{'age': 10, 'zip': 2}"),
        "Publish less closely than records allow: of a number or a date, its grid; of a category, only inner nodes "
        "whose number of steps from the root is a multiple of this.",
    ),
    Parameter("l", Integer(2), "l-diversity: least number of well-represented sensitive values in every class."),
    Parameter(
        "diversity",
        Choice(("distinct", "entropy", "recursive")),
        "How l counts values: different ones (default), exp of their entropy, or recursive (c, l)-diversity.",
    ),
    Parameter("c", Real(0, above=True), "c of recursive (c, l)-diversity; default 2."),
    Parameter("t", Real(0, 1), "t-closeness: greatest earth mover's distance of a class from the whole table."),
    Parameter(
        "emd",
        Choice(("equal", "ordered", "hierarchical")),
        "Distance of two sensitive values for t: equal (default), by rank (of the leaves of the column's hierarchy "
        "where it has one, else of the values), or by the hierarchy.",
    ),
    Parameter("alpha", Real(0, 1, above=True), "(alpha, k)-anonymity: greatest share of a sensitive value in a class."),
    Parameter("p", Integer(2), "p-sensitive k-anonymity: least number of different sensitive values in every class."),
    Parameter(
        "beta",
        Real(0, above=True),
        "beta-likeness: greatest relative gain of a sensitive value's share in a class over the whole table.",
    ),
    Parameter(
        "likeness",
        Choice(("basic", "enhanced")),
        "Of beta-likeness: basic (default), or enhanced, which also bounds the gain by -ln of the share in the table.",
    ),
    Parameter(
        "multi",
        Choice(("independent", "joint")),
        "Several sensitive columns: each judged in the whole class (default), or within equal values of the others.",
    ),
    Parameter(
        "suppress",
        Real(0, 1),
        "Greatest share of the records that may be left out as outliers where that lowers the average loss of the "
        "others; reported in metrics and classes.",
        0.0,
    ),
    Parameter(
        "improve",
        Moves(),
        "Moves of a local search that lowers the loss of the finished classes while the whole model keeps holding; "
        "20000 is a good start. In materialize, anonymize and the command line also a time, '5s'.",
    ),
    Parameter("escape", Flag(), "Accept values that equal '*' or an inner label; publish them as \\value.", False),
    Parameter(
        "eloss_height",
        Choice(("top", "sub")),
        "Height of an inner node in the loss: from the root down, or of its own subtree (KACPC paper, Eq. 1).",
        "top",
    ),
)


def validated(function: str, parameters: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, object]:
    """Accepted values of all parameters by name, defaults filled in.

    Raises UnknownParameter, MissingArgument or InvalidArgument. NULL means "not given".
    """
    by_name = {p.name: p for p in parameters}
    for name in given:
        if name.lower() not in by_name:
            raise errors.UnknownParameter(function, name, by_name)
    lowered = {name.lower(): value for name, value in given.items()}
    accepted: dict[str, object] = {}
    for name, parameter in by_name.items():
        value = lowered.get(name)
        if value is None:
            if parameter.required:
                raise errors.MissingArgument(function, name, str(parameter.kind), parameter.example)
            accepted[name] = parameter.default
            continue
        try:
            accepted[name] = parameter.kind.check(value)
        except ValueError as error:
            accepts = str(error) or str(parameter.kind)
            raise errors.InvalidArgument(function, name, accepts, shown(value)) from None
    return accepted


def shown(value: object) -> str:
    """A value as SQL would show it, shortened."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
