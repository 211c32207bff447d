"""Create the release of a dbt model: its first version, the next one with the same call, or one with another call."""

import contextlib
import json
import warnings
from collections.abc import Iterator, Mapping
from typing import Any

from dbanon import errors
from dbanon.api.connection import Connection
from dbanon.errors import redaction
from dbanon.errors.warnings import DisclosureWarning, UtilityWarning
from dbanon.integrations.dbt.model import CREATE_OPTIONS, REFRESH_OPTIONS, DbtModel
from dbanon.ledger import releases
from dbanon.ledger.releases import LedgerEntry
from dbanon.release import search_budget
from dbanon.release.spec import related_parameters as related
from dbanon.runtime import session
from dbanon.sqltext.quote import qualified
from dbanon.table_functions.dispatch import make_call
from dbanon.table_functions.registry import table_functions
from dbanon.views import materialize, statement_parser, statements, target


def create_next_version(connection: Connection, model: DbtModel) -> list[str]:
    """Create the next version of a dbt model's release; return the messages of its disclosure and utility warnings.

    Without a published version this creates the first one. Otherwise it refreshes the release or, with `full_refresh`,
    creates a version with the present call, clustered from scratch. The new version is checked against all versions.

    Args:
        connection: A connection without an open transaction.
        model: The model.

    Raises:
        DbtModelChangedError: A refresh, and the call is not that of the published version.
        DbanonError: Whatever `create_release` and `refresh_release` raise.
    """
    with _collect_warnings() as messages:
        name = str(qualified(*model.place))
        function, source, arguments = connection.parse_call(_query_call(connection, name, model.query))
        function, arguments = statements.resolve_algorithm(function, arguments)
        related.refuse_related_tables(function, arguments)
        with redaction.redact_values(function, lambda: [source]):
            entry = _published_entry(connection, model)
            if entry is None or model.full_refresh:
                options = {option: model.options[option] for option in CREATE_OPTIONS if option in model.options}
                replace = entry is not None
                materialize.create_release(
                    connection.raw, name, function, source, key=model.key, replace=replace, **options, **arguments
                )
            else:
                _check_same_call(connection, entry, model, (function, source, arguments))
                options = {option: model.options[option] for option in REFRESH_OPTIONS if option in model.options}
                materialize.refresh_release(connection.raw, name, **options)
    return messages


def _query_call(connection: Connection, name: str, query: str) -> str:
    """Return the call of an algorithm that a model's query is, without the brackets or comments around it.

    `name` is the quoted name of the release.

    Raises:
        NotASingleCallError: The query is not a single call.
        UnreadableStatementError: The query cannot be read.
    """
    steps = statement_parser.split_statements(
        f"{statement_parser.CREATE} {name} AS {query}", connection.raw.extract_statements
    )
    if len(steps) > 1:
        publishing = [f.name for f in table_functions().values() if f.kind == "release"]
        raise errors.NotASingleCallError("another statement follows it", publishing, statement_parser.CREATE)
    return str(steps[0].query)


def _published_entry(connection: Connection, model: DbtModel) -> LedgerEntry | None:
    """Return the ledger entry of the published version of the model's release; None if there is none."""
    database, *rest = model.place
    with session.find_session(connection.raw).cursor() as cursor:
        condition = "schema_name = ? AND lower(name) = lower(?) AND status = 'published'"
        entries = releases.entries(cursor, database, condition, rest)
    return entries[-1] if entries else None


def _check_same_call(
    connection: Connection, entry: LedgerEntry, model: DbtModel, new_call: tuple[str, str, Mapping[str, Any]]
) -> None:
    """Raise an error if the published version was made by another call, or with another key.

    Compared are the function, the source, and all parameters; `improve` is not if its new value is a time limit,
    because the ledger has the number of moves. The key is compared if the model gives one and no column has the role
    person.

    Args:
        connection: A connection of dbanon.
        entry: The ledger entry of the published version.
        model: The model.
        new_call: The function, source and parameters of its query.

    Raises:
        DbtModelChangedError: They differ.
    """
    function, source, arguments = new_call
    parameters = json.loads(json.dumps(dict(arguments), default=str))
    previous_parameters = dict(entry.call["parameters"])
    current_session = session.find_session(connection.raw)
    with current_session.cursor() as cursor:
        untimed = search_budget.replace_time_limit(function, parameters)
        call = make_call(
            current_session, cursor, function, {"tbl": source}, untimed, target.current_location(connection.raw)
        )
        table = target.stored_source_name(call.source(), source)
    if (
        search_budget.time_limit_s(function, parameters) is not None
    ):  # the ledger has the moves that were made in that time
        parameters, previous_parameters = _without_improve(parameters), _without_improve(previous_parameters)
    differences = [] if function == entry.call["function"] else ["the function"]
    differences += [] if table == entry.call["source"] else ["the source"]
    differences += [
        n
        for n in sorted({*parameters, *previous_parameters})
        if n not in parameters or n not in previous_parameters or parameters[n] != previous_parameters[n]
    ]
    key = {column.casefold() for column in model.key or ()}
    if key and entry.person_key and "person" not in entry.roles.values():
        differences += [] if key == {column.casefold() for column in entry.person_key} else ["key"]
    if differences:
        raise errors.DbtModelChangedError(entry.display_name, differences)


def _without_improve(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the parameters without `improve`."""
    return {name: value for name, value in parameters.items() if name.lower() != "improve"}


@contextlib.contextmanager
def _collect_warnings() -> Iterator[list[str]]:
    """Yield a list that receives the messages of disclosure and utility warnings when the block has ended.

    Other warnings of the block are issued again then. If the block raises an error, all are discarded.
    """
    messages: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield messages
    for warning in caught:
        if issubclass(warning.category, DisclosureWarning | UtilityWarning):
            messages.append(str(warning.message))
        else:
            warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
