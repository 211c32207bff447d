"""Call table functions about a release or a table from Python: risk, attacks, a proposed policy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbanon import errors
from dbanon.api import frame_columns, frame_errors
from dbanon.api.connection import connect
from dbanon.api.frame import Anonymized, register_data, store_hierarchies
from dbanon.runtime import session
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.parameters import Parameter, check_parameter_names
from dbanon.table_functions.registry import table_functions

if TYPE_CHECKING:
    import pandas as pd


def risk(data: Any, release: str | None = None, **parameters: Any) -> pd.DataFrame:
    """Return the result of the table function `risk` as a DataFrame: one row per risk metric of a release.

    Args:
        data: A connection; or the result of `anonymize`, whose roles apply unless parameters change them; or a release
            as a DataFrame, a relation of DuckDB or a file.
        release: The name of the released table, if `data` is a connection.
        parameters: Parameters of the table function. `source` is a table's name if `data` is a connection, otherwise
            data as in `anonymize`.

    Returns:
        A DataFrame with the columns of the table function.

    Raises:
        UnknownParameterError: The table function has no such parameter.
        MissingArgumentError: `data` is a connection and `release` is missing.
        DbanonError: The table function raises it.

    Examples:
        >>> import pandas as pd
        >>> import dbanon
        >>> people = pd.DataFrame({"age": [21, 23, 61, 65], "disease": ["Flu", "Flu", "Cold", "HIV"]})
        >>> result = dbanon.anonymize(people, "mondrian", k=2, qi=["age"], sensitive=["disease"])
        >>> metrics = dbanon.risk(result, source=people).set_index("name")["value"]
        >>> float(metrics["prosecutor_highest"])
        0.5
    """
    return query_table_function("risk", data, release, parameters)


def attack(data: Any, release: str | None = None, **parameters: Any) -> pd.DataFrame:
    """Return the result of the table function `attack` as a DataFrame: one row per guess about a person.

    Args:
        data: A connection; or the result of `anonymize`; or a release as a DataFrame, a relation of DuckDB or a file.
        release: The name of the released table, if `data` is a connection.
        parameters: Parameters of the table function; `source` as in `risk`.

    Returns:
        A DataFrame with the columns of the table function.

    Raises:
        UnknownParameterError: The table function has no such parameter.
        MissingArgumentError: `data` is a connection and `release` is missing.
        DbanonError: The table function raises it.

    Examples:
        >>> import pandas as pd
        >>> import dbanon
        >>> people = pd.DataFrame({"age": [21, 23, 61, 65], "disease": ["Flu", "Flu", "Cold", "HIV"]})
        >>> result = dbanon.anonymize(people, "mondrian", k=2, qi=["age"], sensitive=["disease"])
        >>> dbanon.attack(result, kind="homogeneity", source=people)["guess"].tolist()
        ['Flu']
    """
    return query_table_function("attack", data, release, parameters)


def profile(data: Any, table: str | None = None, **parameters: Any) -> pd.DataFrame:
    """Return the result of the table function `profile` as a DataFrame: a proposed role for each column of a table.

    Args:
        data: A connection; or a DataFrame, a relation of DuckDB, a file, or the result of `anonymize`.
        table: The name of a table, if `data` is a connection.
        parameters: Parameters of the table function.

    Returns:
        A DataFrame with the columns of the table function.

    Raises:
        UnknownParameterError: The table function has no such parameter.
        MissingArgumentError: `data` is a connection and `table` is missing.
        DbanonError: The table function raises it.

    Examples:
        >>> import pandas as pd
        >>> import dbanon
        >>> dbanon.profile(pd.DataFrame({"email": ["ann@example.org", "bob@example.org"]}))["proposed_role"].tolist()
        ['identifier']
    """
    return query_table_function("profile", data, table, parameters)


def query_table_function(function: str, subject: Any, name: str | None, parameters: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a table function whose first argument is a table, as a pandas DataFrame.

    If `subject` is data, the call runs on a new connection in memory; the roles of a result of `anonymize` apply unless
    `parameters` change them. Hierarchies that are given as rows are stored on this connection.

    Args:
        function: The name of the table function.
        subject: A connection; or data: the result of `anonymize`, a DataFrame, a relation of DuckDB or a file.
        name: The name of the table, if `subject` is a connection; otherwise not used.
        parameters: Parameters of the table function.

    Raises:
        UnknownParameterError: The table function has no such parameter.
        MissingArgumentError: `subject` is a connection and `name` is None.
        UnsupportedInputError: `subject` is of no kind that can be read.
        DbanonError: The table function raises it.
    """
    table_function = table_functions()[function]
    check_parameter_names(function, table_function.parameters, parameters)
    if is_connection(subject):
        if name is None:
            raise errors.MissingArgumentError(
                function, table_function.positional[0], "a text", f"dbanon docs {function} shows it"
            )
        session.find_session(session.plain_connection(subject))  # attaches a cursor
        return _query_rows(subject, function, text(name), parameters)
    frame = subject.release if isinstance(subject, Anonymized) else subject
    with connect() as con:
        table = register_data(con, frame, function, frame_columns.frame_name(frame))
        with frame_errors.speak_of_frames():
            arguments = _inherited_roles(subject, table_function.parameters) | dict(parameters)
            arguments = frame_columns.text_names(frame, arguments, table_function.parameters)
            if "source" in arguments and not isinstance(arguments["source"], str):
                arguments["source"] = _register_source(con, arguments["source"], function)
            if isinstance(hierarchies := arguments.get("hierarchies"), Mapping):
                arguments["hierarchies"] = store_hierarchies(con, hierarchies)
            return _query_rows(con, function, table, arguments)


def _register_source(con: Any, source: Any, function: str) -> str:
    """Register the source of a release on the connection and return its name there; return a Path as text.

    `source` is data or a Path. Callers must not pass texts (names of tables), which would not be registered. `function`
    is the called function, for messages.
    """
    if isinstance(source, Path):
        return str(source)
    name = frame_columns.frame_name(source).replace("the ", "the source ")
    register_data(con, source, function, name)
    return name


def is_connection(subject: Any) -> bool:
    """Return whether a value has the methods `execute` and `extract_statements` of a DuckDB connection."""
    return hasattr(subject, "extract_statements") and hasattr(subject, "execute")


def _inherited_roles(subject: Any, declared: Iterable[Parameter]) -> dict[str, Any]:
    """Return the parameters `qi`, `sensitive` and `hierarchies` of the call of `anonymize` whose result `subject` is.

    Only those that are among the declared parameters are returned; {} if `subject` is another object.
    """
    if not isinstance(subject, Anonymized):
        return {}
    names = {p.name for p in declared}.intersection(subject.parameters)
    return {name: subject.parameters[name] for name in ("qi", "sensitive", "hierarchies") if name in names}


def _query_rows(con: Any, function: str, table: Sql, arguments: Mapping[str, Any]) -> pd.DataFrame:
    """Call a table function on a connection and return its rows as a DataFrame.

    Args:
        con: A connection.
        function: The name of the table function.
        table: The first argument as SQL, usually a string literal with the table's name.
        arguments: The other arguments by name, which are passed as prepared parameters.
    """
    argument_list = "".join(f", {name} := ${name}" for name in arguments)
    frame: pd.DataFrame = con.execute(f"FROM {function}({table}{argument_list})", dict(arguments) or None).df()
    return frame
