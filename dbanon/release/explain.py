"""explain_release and explain_step: the statement of a release as its steps, and the rows that a step has.

Both are for the custodian: statements name what is withheld, and the steps before the release hold raw values.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.release import functions
from dbanon.sqltext.cte_steps import StatementSteps, split_steps
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal_rows, text
from dbanon.table_functions import registry
from dbanon.table_functions.parameter_types import Integer, Integers
from dbanon.table_functions.parameters import Parameter, format_value
from dbanon.table_functions.table_function import Call, TableFunction

RESULT = "result"
"""The last step: what the call gives."""

_STEP_PARAMETERS = (
    Parameter("records", Integer(1, 10**6), "At most so many rows, the first by their own numbers.", 10),
    Parameter(
        "follow",
        Integers(0, descending=False),
        "Numbers of kinds of records (rid in the step 'source'): only their rows, or those of their classes.",
    ),
)

_NAMED_BY_USERS = ("as_it_came", "leaving", "class_rows", RESULT)
"""Steps whose columns have names of the table, which may be those of keys."""

_ROW = identifier("dbanon row")

_ORDER = ("rid", "tid", "gid", "cluster", "span", "class_id", "code", "preorder", "place")


def _called(function: TableFunction, given: Mapping[str, object]) -> TableFunction:
    """Return the form for the function that is explained: with its parameters."""
    named = given.get("function")
    publishing = functions.publishing()
    if not isinstance(named, str):
        return function
    if named.lower() not in publishing:
        raise errors.InvalidArgumentError(
            function.name,
            "function",
            "a function that publishes, such as 'kacpc' or 'kacpc_metrics'",
            format_value(named),
        )
    of = registry.resolve_function(named.lower(), given)
    more = _STEP_PARAMETERS if function.name == "explain_step" else ()
    return replace(
        function, parameters=(*more, *of.parameters), handler=partial(_step if more else _release, of), narrowed=None
    )


def _steps(of: TableFunction, call: Call) -> StatementSteps:
    """What the call of the function runs."""
    return split_steps(str(of.handler(replace(call, function=of, positional={"tbl": call.positional.get("tbl")}))))


def _release(of: TableFunction, call: Call) -> Sql:
    found = _steps(of, call)
    rows = [[place, step.name, step.holds, step.sql] for place, step in enumerate(found.relations, 1)]
    rows.append([len(rows) + 1, RESULT, "What the call gives.", found.result])
    return literal_rows({"position": "INTEGER", "step": "VARCHAR", "holds": "VARCHAR", "sql": "VARCHAR"}, rows)


def _step(of: TableFunction, call: Call) -> Sql:
    found, wanted = _steps(of, call), call.text("step")
    names = [step.name for step in found.relations]
    if wanted not in (*names, RESULT):
        accepts = f"'{RESULT}' or a step that explain_release('{of.name}', ...) lists"
        raise errors.InvalidArgumentError(call.function.name, "step", accepts, format_value(wanted))
    limit = f"LIMIT {call.options['records']}"
    if wanted == RESULT:
        return Sql(found.statement(f"FROM (\n{found.result}\n)\n{limit}"))
    keys = [f"TRY_CAST(to_json({_ROW}) ->> '{key}' AS BIGINT) ASC NULLS LAST" for key in _ORDER]
    order = join_sql([*keys, f"to_json({_ROW})::VARCHAR COLLATE POSIX ASC"])
    where = _followed(call.options.listed("follow"), wanted, names)
    return Sql(
        found.statement(f"SELECT {_ROW}.*\nFROM {identifier(wanted)} AS {_ROW}\n{where}ORDER BY {order}\n{limit}")
    )


def _followed(records: tuple[int, ...] | None, step: str, names: list[str]) -> str:
    """Which rows of a step are about some records: their own, else those of their groups, clusters or classes."""
    if records is None or step in _NAMED_BY_USERS or "placed" not in names:
        return ""
    own = f"({', '.join(map(str, records))})"
    classes = f"(SELECT class_id FROM placed WHERE rid IN {own})"
    sets = {
        "rid": own,
        "tid": f"(SELECT tid FROM placed WHERE rid IN {own})",
        "gid": f"(SELECT gid FROM class_of_part WHERE class_id IN {classes})",
        "class_id": classes,
    }
    if "generalized" in names:
        sets["span"] = f"(SELECT span FROM generalized WHERE class_id IN {classes})"
        sets["cluster"] = f"(SELECT cluster FROM class_of_cluster WHERE class_id IN {classes})"
    else:  # where values are drawn, a class is a cluster
        sets["cluster"] = f"(SELECT class_id - 1 FROM placed WHERE rid IN {own})"
    fits = [
        f"WHEN json_exists(to_json({_ROW}), '{k}') THEN (to_json({_ROW}) ->> '{k}')::BIGINT IN {v}"
        for k, v in sets.items()
    ]
    return f"WHERE CASE {' '.join(fits)} ELSE true END\n"


def _unnamed(call: Call) -> Sql:
    """Raise MissingArgumentError: without a function's name there is nothing to explain."""
    return text(call.text("function"))


def _function(
    name: str, positional: tuple[str, ...], more: tuple[Parameter, ...], doc: str, code: str
) -> TableFunction:
    every = {p.name: p for f in functions.publishing().values() for p in f.parameters}
    function = TableFunction(name, positional, (*more, *every.values()), doc, _unnamed, Example(code))
    return replace(function, narrowed=partial(_called, function))


def _functions() -> tuple[TableFunction, ...]:
    """Return the two functions, with the parameters of all that publish."""
    return (
        _function(
            "explain_release",
            ("function", "tbl"),
            (),
            "What a call of a function that publishes runs: a row a step, with what it holds and its SQL, then the "
            "result. For the custodian: it names what is withheld.",
            "SELECT position, step, holds FROM explain_release('kacpc', 'patients', k = 10);",
        ),
        _function(
            "explain_step",
            ("function", "tbl", "step"),
            _STEP_PARAMETERS,
            "The first rows of one of these steps. For the custodian: it shows raw values.",
            "FROM explain_step('kacpc', 'patients', 'encoded', k = 10, follow = [0, 1]);",
        ),
    )


FUNCTIONS = _functions
