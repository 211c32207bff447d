"""algorithms(): the registered algorithms as a table."""

from typing import Any

from dbanon.algorithms.base.registry import algorithms
from dbanon.errors.example import Example
from dbanon.sqltext.quote import Sql, literal_rows
from dbanon.table_functions.table_function import Call, TableFunction


def statement(call: Call) -> Sql:
    """Return the SQL of the table function algorithms(): literal rows, one per registered algorithm.

    The columns are name, title, family, source, evidence, deterministic, complexity, meets, own_parameters and
    parameters. `call` is not read.
    """
    columns = (
        "name", "title", "family", "source", "evidence", "deterministic", "complexity", "meets", "own_parameters",
        "parameters",
    )  # fmt: skip
    rows = [
        [a.name, a.title, a.family, a.source, a.evidence_text, a.deterministic, a.complexity,
         list(a.meets), [p.name for p in a.own_parameters], [p.name for p in a.parameters]]
        for a in algorithms()
    ]  # fmt: skip
    types: dict[str, Any] = dict.fromkeys(columns, "VARCHAR")
    types |= {"deterministic": "BOOLEAN"} | {name: ["VARCHAR"] for name in columns[-3:]}
    return literal_rows(types, rows)


FUNCTIONS = (
    TableFunction(
        "algorithms",
        (),
        (),
        "Lists the registered algorithms: family, source, evidence, complexity, models that their clusters meet "
        "without merging, and parameters.",
        handler=statement,
        example=Example("SELECT name, family, source FROM algorithms();"),
    ),
)
