"""Declare explain_release and explain_step: the steps of the statement of a release, and the rows of one step.

Both are for the custodian: statements name what is withheld, and the steps before the release contain raw values.
"""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.release import functions
from dbanon.sqltext.cte_steps import StatementSteps, split_steps
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal_rows, text
from dbanon.sqltext.statement_layout import lay_out
from dbanon.table_functions import registry
from dbanon.table_functions.parameter_types import Integer, Integers
from dbanon.table_functions.parameters import Parameter, format_value
from dbanon.table_functions.table_function import Call, TableFunction

RESULT_STEP = "result"
"""The name of the last step: the result of the call."""

_STEP_PARAMETERS = (
    Parameter(
        "records", Integer(1, 10**6), "Greatest number of rows; the first ones by their own numbers are returned.", 10
    ),
    Parameter(
        "follow",
        Integers(0, descending=False),
        "Numbers of tuples (rid in the step 'source'): only the rows of these, their groups or classes are returned.",
    ),
)

_STEPS_WITH_TABLE_COLUMNS = ("source_copy", "published_rows", "class_rows", RESULT_STEP)
"""Steps with columns of the table, whose names may be equal to those of numbers such as rid."""

_ORDER_COLUMNS = ("rid", "gid", "cluster", "span", "class_id", "code", "preorder", "place")


def _specialize(function: TableFunction, call_values: Mapping[str, object]) -> TableFunction:
    """Return explain_release or explain_step as adapted to the function that it is to explain.

    The result has the parameters of that function, and a handler that explains it.

    Args:
        function: explain_release or explain_step. It is returned unchanged if the call names no function as text.
        call_values: The arguments of the call; `function` is the name of the function to explain.

    Raises:
        InvalidArgumentError: There is no function of this name that publishes.
    """
    function_name = call_values.get("function")
    release_functions = functions.release_functions()
    if not isinstance(function_name, str):
        return function
    if function_name.lower() not in release_functions:
        raise errors.InvalidArgumentError(
            function.name,
            "function",
            "a function that publishes, such as 'kacpc' or 'kacpc_metrics'",
            format_value(function_name),
        )
    explained = registry.resolve_function(function_name.lower(), call_values)
    step_parameters = _STEP_PARAMETERS if function.name == "explain_step" else ()
    return replace(
        function,
        parameters=(*step_parameters, *explained.parameters),
        handler=partial(_explain_step_sql if step_parameters else _explain_release_sql, explained),
        specialize=None,
    )


def _statement_steps(explained: TableFunction, call: Call) -> StatementSteps:
    """Plan the explained call; return its statement as steps: the common table expressions and the final SELECT.

    `call` is the call of explain_release or explain_step, `explained` the function that it names.
    """
    return split_steps(
        str(explained.handler(replace(call, function=explained, positional={"tbl": call.positional.get("tbl")})))
    )


def _explain_release_sql(explained: TableFunction, call: Call) -> Sql:
    """Return the SQL of explain_release: one row per step of the explained statement, then one for its result.

    The columns are position (from 1), chapter, step (its name), description and sql.
    """
    steps = _statement_steps(explained, call)
    rows = [
        [position, step.chapter, step.name, step.description, lay_out(step.sql)]
        for position, step in enumerate(steps.relations, 1)
    ]
    last_chapter = steps.relations[-1].chapter if steps.relations else ""
    rows.append([len(rows) + 1, last_chapter, RESULT_STEP, "The result of the call.", lay_out(steps.result)])
    types = dict.fromkeys(("chapter", "step", "description", "sql"), "VARCHAR")
    return literal_rows({"position": "INTEGER", **types}, rows)


def _explain_step_sql(explained: TableFunction, call: Call) -> Sql:
    """Return the SQL of explain_step: the first rows of one step, or of the result, of the explained statement.

    The rows of a step are ordered by their numbers (rid, tid, ...), then as text. The parameter `records` limits them,
    and `follow` filters them.

    Raises:
        InvalidArgumentError: The statement has no such step.
    """
    steps, step_name = _statement_steps(explained, call), call.text("step")
    step_names = [relation.name for relation in steps.relations]
    if step_name not in (*step_names, RESULT_STEP):
        accepts = f"'{RESULT_STEP}' or a step that explain_release('{explained.name}', ...) lists"
        raise errors.InvalidArgumentError(call.function.name, "step", accepts, format_value(step_name))
    limit = f"LIMIT {call.options['records']}"
    if step_name == RESULT_STEP:
        return Sql(steps.statement(f"FROM (\n{steps.result}\n)\n{limit}"))
    row = _row_alias(steps)
    keys = [f"TRY_CAST(to_json({row}) ->> '{key}' AS BIGINT) ASC NULLS LAST" for key in _ORDER_COLUMNS]
    order = join_sql([*keys, f"to_json({row})::VARCHAR COLLATE POSIX ASC"])
    where_clause = _where_clause(call.options.sequence("follow"), step_name, step_names, row)
    return Sql(
        steps.statement(
            f"SELECT {row}.*\nFROM {identifier(step_name)} AS {row}\n{where_clause}ORDER BY {order}\n{limit}"
        )
    )


def _row_alias(steps: StatementSteps) -> Sql:
    """Return a quoted alias of a row that no name in a statement equals.

    A column would go before an alias of its name.
    """
    name = "dbanon row"
    while f'"{name}"' in steps.statement(steps.result).lower():
        name += "_"
    return identifier(name)


def _where_clause(followed_records: tuple[int, ...] | None, step_name: str, step_names: list[str], row: Sql) -> str:
    """Return a WHERE clause for the rows of a step that concern some records; "" if the step cannot be filtered.

    Rows are those of the records or, if the step has no record numbers (rid), those with the number of their group
    (gid), class, span or cluster. Parts of a group are returned if they are in the classes of the records. "" also if
    `followed_records` is None.

    Args:
        followed_records: The numbers (rid) of the records; None for all.
        step_name: The step whose rows are shown.
        step_names: The names of all steps of the statement.
        row: The alias of a row.
    """
    if followed_records is None or step_name in _STEPS_WITH_TABLE_COLUMNS or "record_classes" not in step_names:
        return ""
    record_list = f"({', '.join(map(str, followed_records))})"
    classes = f"(SELECT class_id FROM record_classes WHERE rid IN {record_list})"
    members = "(SELECT gid, unnest(members, max_depth := 2) FROM code_groups)"
    wanted_numbers = {
        "rid": record_list,
        "gid": f"(SELECT gid FROM {members} WHERE rid IN {record_list})",
        "class_id": classes,
    }
    if "generalized_spans" in step_names:
        wanted_numbers["span"] = f"(SELECT span FROM generalized_spans WHERE class_id IN {classes})"
        wanted_numbers["cluster"] = f"(SELECT cluster FROM cluster_spans WHERE span IN {wanted_numbers['span']})"
    else:  # with noise, a class is a cluster
        wanted_numbers["cluster"] = f"(SELECT class_id - 1 FROM record_classes WHERE rid IN {record_list})"
    parts = f"(SELECT struct_pack(gid := gid, first := first) FROM part_classes WHERE class_id IN {classes})"
    conditions = [
        f"WHEN json_exists(to_json({row}), '{column}') THEN (to_json({row}) ->> '{column}')::BIGINT IN {numbers}"
        for column, numbers in wanted_numbers.items()
    ]
    is_part = f"json_exists(to_json({row}), 'gid') AND json_exists(to_json({row}), 'first')"
    part = ", ".join(f"{name} := (to_json({row}) ->> '{name}')::BIGINT" for name in ("gid", "first"))
    in_class = f"CASE WHEN {is_part} THEN struct_pack({part}) IN {parts} ELSE true END"
    return f"WHERE CASE {' '.join(conditions)} ELSE true END\n    AND {in_class}\n"


def _refuse_missing_function(call: Call) -> Sql:
    """Raise MissingArgumentError if a call lacks the argument `function`; otherwise return the argument as SQL text.

    It is the handler of explain_release and explain_step that have not been specialized to a function.
    """
    return text(call.text("function"))


def _function(
    name: str, positional: tuple[str, ...], own_parameters: tuple[Parameter, ...], doc: str, example_code: str
) -> TableFunction:
    """Return the declaration of explain_release or explain_step, with the parameters of all functions that publish.

    Args:
        name: The name of the declared function.
        positional: Its positional arguments.
        own_parameters: Its own parameters, in addition to those.
        doc: Its description in the manual.
        example_code: An example of a call.
    """
    release_parameters = {p.name: p for f in functions.release_functions().values() for p in f.parameters}
    function = TableFunction(
        name,
        positional,
        (*own_parameters, *release_parameters.values()),
        doc,
        _refuse_missing_function,
        Example(example_code),
    )
    return replace(function, specialize=partial(_specialize, function))


def _functions() -> tuple[TableFunction, ...]:
    """Return the declarations of explain_release and explain_step."""
    return (
        _function(
            "explain_release",
            ("function", "tbl"),
            (),
            "Returns the SQL that a call of a publishing function runs: one row per step, with its description and "
            "its SQL, then the result. For the custodian: it names withheld columns.",
            "SELECT position, step, description FROM explain_release('kacpc', 'patients', k = 10);",
        ),
        _function(
            "explain_step",
            ("function", "tbl", "step"),
            _STEP_PARAMETERS,
            "Returns the first rows of one step of explain_release. For the custodian: it shows raw values.",
            "FROM explain_step('kacpc', 'patients', 'code_groups', k = 10, follow = [0, 1]);",
        ),
    )


FUNCTIONS = _functions
