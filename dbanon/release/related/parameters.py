"""The parameters by which a call asks for related tables."""

from __future__ import annotations

from dbanon.functions.options import Options
from dbanon.functions.parameter_types import Integer, Key, Tables, Text
from dbanon.functions.parameters import Parameter

CAP = 20
"""Rows of one table that are published of a person, unless the call says otherwise."""

RELATED: tuple[Parameter, ...] = (
    Parameter(
        "entity",
        Text("a table's name"),
        "The table with one row a person whom the rows of this one are about: both are anonymized together, so that "
        "everybody shares a row there and all rows here with k people. The keys become pseudonyms.",
    ),
    Parameter(
        "children",
        Tables(),
        "Tables with rows about the people of this one (with entity: all tables of the release), anonymized together "
        "with it.",
    ),
    Parameter(
        "key",
        Key(),
        "With entity or children: the columns that say who a row is about, or {'patient_id': 'id'} where they have "
        "other names in the table of people.",
    ),
    Parameter(
        "max_children",
        Integer(1, 10**6),
        "With entity or children: at most so many rows of one table are published of a person.",
        CAP,
    ),
)


def asks(options: Options) -> bool:
    """Whether a call is about related tables."""
    return options.get("entity") is not None or options.get("children") is not None
