"""Table functions about a release or a table, called from Python: risk, attacks, a proposed policy."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dbanon import errors
from dbanon.api.connection import connect
from dbanon.api.frame import Anonymized, given_hierarchies, relation_name
from dbanon.sqltext.quote import Sql, text
from dbanon.table_functions.registry import table_functions

if TYPE_CHECKING:
    import pandas as pd


def risk(of: Any, release: str | None = None, **parameters: Any) -> pd.DataFrame:
    """Return the table function `risk` as a DataFrame: the risk numbers of a release, one row each.

    `of` is a connection, then `release` names a table; or what `anonymize` gave, whose roles count unless parameters
    say otherwise; or a release as a DataFrame, a relation or a file. Parameters are those of the table function;
    `source` is a table's name on a connection, else data as in `anonymize`. Raises UnknownParameterError, and what the
    function raises.

    >>> import pandas as pd
    >>> from dbanon.api.frame import anonymize
    >>> people = pd.DataFrame({"age": [21, 23, 61, 65], "disease": ["Flu", "Flu", "Cold", "HIV"]})
    >>> made = anonymize(people, "mondrian", k=2, qi=["age"], sensitive=["disease"])
    >>> found = risk(made, source=people).set_index("name")["value"]
    >>> float(found["prosecutor_highest"])
    0.5
    """
    return answered("risk", of, release, parameters)


def attack(of: Any, release: str | None = None, **parameters: Any) -> pd.DataFrame:
    """Return the table function `attack` as a DataFrame: whom an attack exposes, one row a guess.

    Arguments as for `risk`.

    >>> import pandas as pd
    >>> from dbanon.api.frame import anonymize
    >>> people = pd.DataFrame({"age": [21, 23, 61, 65], "disease": ["Flu", "Flu", "Cold", "HIV"]})
    >>> made = anonymize(people, "mondrian", k=2, qi=["age"], sensitive=["disease"])
    >>> attack(made, kind="homogeneity", source=people)["guess"].tolist()
    ['Flu']
    """
    return answered("attack", of, release, parameters)


def profile(of: Any, table: str | None = None, **parameters: Any) -> pd.DataFrame:
    """The table function `profile` as a DataFrame: a proposed role for each column of a table of a connection, of a
    DataFrame, a relation or a file, or of what `anonymize` gave. Raises UnknownParameterError, and what the function
    raises.

    >>> import pandas as pd
    >>> profile(pd.DataFrame({"email": ["ann@example.org", "bob@example.org"]}))["proposed_role"].tolist()
    ['identifier']
    """
    return answered("profile", of, table, parameters)


def answered(function: str, of: Any, name: str | None, parameters: Mapping[str, Any]) -> pd.DataFrame:
    """Return the rows of a table function whose first argument is a table."""
    called = table_functions()[function]
    known = [p.name for p in called.parameters]
    for parameter in parameters:
        if parameter not in known:
            raise errors.UnknownParameterError(function, parameter, known)
    if _is_connection(of):
        if name is None:
            raise errors.MissingArgumentError(
                function, called.positional[0], "a text", f"dbanon docs {function} shows it"
            )
        return _rows(of, function, text(name), parameters)
    with _holding(of, function) as (con, table):
        given = _roles(of, known) | dict(parameters)
        if "source" in given and not isinstance(given["source"], str):
            given["source"] = _registered(con, given["source"], function)
        if isinstance(hierarchies := given.get("hierarchies"), Mapping):
            given["hierarchies"] = given_hierarchies(con, hierarchies)
        return _rows(con, function, table, given)


def _registered(con: Any, data: Any, function: str) -> str:
    """Return the name by which a call reads the table that was released."""
    if isinstance(data, Path):
        return str(data)
    relation_name(con, data, function, "source")
    return "source"


def _is_connection(of: Any) -> bool:
    return hasattr(of, "extract_statements") and hasattr(of, "execute")


@contextlib.contextmanager
def _holding(of: Any, function: str) -> Iterator[tuple[Any, Sql]]:
    """Return a connection on which data has a name."""
    with connect() as con:
        data = of.release if isinstance(of, Anonymized) else of
        yield con, relation_name(con, data, function, "release")


def _roles(of: Any, known: list[str]) -> dict[str, Any]:
    """What the call of `anonymize` said of columns that the function is about, too."""
    if not isinstance(of, Anonymized):
        return {}
    told = ("qi", "sensitive", "hierarchies")
    return {name: of.parameters[name] for name in told if name in of.parameters and name in known}


def _rows(con: Any, function: str, table: Sql, given: Mapping[str, Any]) -> pd.DataFrame:
    arguments = "".join(f", {name} := ${name}" for name in given)
    found: pd.DataFrame = con.execute(f"FROM {function}({table}{arguments})", dict(given) or None).df()
    return found
