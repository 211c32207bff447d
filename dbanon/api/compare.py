"""compare() and choose() from Python, and comparisons that go on where they were stopped."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

from dbanon import algorithms, errors
from dbanon.algorithms import streams
from dbanon.api.audit import answered
from dbanon.audit.comparison.compare import named
from dbanon.runtime import session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, argument, literal, qualified, text
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameters import validate_parameters
from dbanon.table_functions.registry import table_functions

if TYPE_CHECKING:
    import pandas as pd

AXES = ("algorithms", "k", "d", "rows")
"""Parameters of which a comparison has several values; more of them can be added to a table that is there."""

_OF_STREAMS = (streams.DELTA.name, streams.ORDER_BY.name)
"""Parameters that mean nothing where only tables are clustered."""

_ANY = ("large",)
"""Parameters that change no figure."""


def compare(of: Any, table: str | None = None, *, into: str | None = None, **parameters: Any) -> pd.DataFrame:
    """The table function `compare` as a DataFrame: what algorithms lose and leave at risk, a row a run and metric.

    `of` is a connection, then `table` names a table; or data as in `anonymize`. Parameters are those of the table
    function. `into` names a table of the connection's database that keeps the rows: each run is added when it is done,
    and what the table has is not run again, so that a comparison that was stopped goes on; other values of algorithms,
    k, d and rows are added to it. All rows of the table are given. Raises UnknownParameterError,
    ComparisonTableMismatchError, and what the function raises.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [21, 23, 24, 61, 65, 68]})
    >>> compare(people, k=[2, 3], algorithms="mdav", metrics="classes", qi=["age"])["mean"].tolist()
    [3.0, 2.0]
    """
    if into is None:
        return answered("compare", of, table, parameters)
    if table is None:
        raise errors.MissingArgumentError(
            "compare", "tbl", "a table's name, as into is given", "compare(con, 'patients')"
        )
    kept = _Kept(of, table, into, parameters)
    kept.make()
    for missing in kept.missing():
        kept.add(missing)
    return kept.rows()


def choose(of: Any, table: str | None = None, **parameters: Any) -> pd.DataFrame:
    """The table function `choose` as a DataFrame: what configurations of a release cost and leave at risk, a row each.

    Arguments as for `compare`. Raises UnknownParameterError, and what the function raises.

    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [21, 23, 24, 61, 65, 68]})
    >>> choose(people, k=[2, 3], qi=["age"], queries=0)["risk_highest"].round(3).tolist()
    [0.5, 0.333]
    """
    return answered("choose", of, table, parameters)


class _Kept:
    """A comparison whose rows a table keeps; its comment says of what they are."""

    def __init__(self, con: Any, of: str, into: str, parameters: Mapping[str, Any]) -> None:
        known = table_functions()["compare"].parameters
        usual = {p.name: p.default for p in known}
        self._con, self._of, self._into = con, of, into
        self._options = Options(validate_parameters("compare", known, parameters))
        self._fixed = {
            name: value for name, value in self._options.items() if name not in AXES and value != usual[name]
        }
        parts = names.table_parts(into)
        if parts is None:
            raise errors.InvalidArgumentError("compare", "into", "a table's name", repr(into))
        self._parts = parts
        self._name = qualified(*parts)
        said = {name: value for name, value in self._fixed.items() if name not in _ANY}
        self._comment = json.dumps({"compare": of, "with": said}, sort_keys=True, default=str)

    def make(self) -> None:
        """Make the table where there is none; ComparisonTableMismatchError where it holds something else."""
        cursor = self._con.cursor()
        path = catalog.SearchPath.here(self._con)
        found = catalog.find_stored("compare", cursor, self._into, self._parts, path)
        if found is None:
            first = self._call(next(self._combinations()))
            self._con.execute(f"CREATE TABLE {self._name} AS FROM {first} WITH NO DATA")
            self._con.execute(f"COMMENT ON TABLE {self._name} IS {text(self._comment)}")
            return
        rows = cursor.execute(
            "SELECT comment FROM system.main.duckdb_tables() "
            "WHERE (database_name, schema_name, table_name) = (?, ?, ?)",
            list(found),
        ).fetchall()
        comment = rows[0][0] if rows else None
        if comment != self._comment:
            raise errors.ComparisonTableMismatchError(self._into, _held(comment))

    def missing(self) -> list[dict[str, Any]]:
        """Return the combinations that the table has no figures of."""
        query = f"SELECT DISTINCT algorithm, k, d, rows FROM {self._name} WHERE problem IS NULL"
        done = set(self._con.execute(query).fetchall())
        return [c for c in self._combinations() if tuple(c[axis] for axis in AXES) not in done]

    def add(self, combination: Mapping[str, Any]) -> None:
        """Run one combination and keep its rows, in place of those that say why it was refused before."""
        columns = ("algorithm", *AXES[1:])
        same = {column: literal(combination[axis]) for column, axis in zip(columns, AXES, strict=True)}
        where = " AND ".join(f"{column} IS NOT DISTINCT FROM {value}" for column, value in same.items())
        self._con.execute(f"DELETE FROM {self._name} WHERE problem IS NOT NULL AND {where}")
        self._con.execute(f"INSERT INTO {self._name} FROM {self._call(combination)}")

    def rows(self) -> pd.DataFrame:
        """Return all rows of the table."""
        found: pd.DataFrame = self._con.execute(f"FROM {self._name}").df()
        return found

    @cached_property
    def _widths(self) -> Sequence[int]:
        """Numbers of quasi-identifiers: without `d`, that of all of them, which only planning finds."""
        planned = self._call({axis: self._options[axis] for axis in AXES})
        self._con.execute(f"EXPLAIN FROM {planned}").fetchall()
        return session.of_connection(getattr(self._con, "raw", self._con)).widths

    def _combinations(self) -> Iterator[dict[str, Any]]:
        options = self._options
        every = (
            self._widths,
            options["rows"] or (None,),
            [a.name for a in named("compare", options)],
            options["k"],
        )
        for d, rows, algorithm, k in product(*every):
            yield {"algorithms": algorithm, "k": k, "d": d, "rows": rows}

    def _call(self, combination: Mapping[str, Any]) -> Sql:
        of_tables = {a.name for a in algorithms.algorithms()}.issuperset(_listed(combination["algorithms"]))
        fixed = {name: value for name, value in self._fixed.items() if not (of_tables and name in _OF_STREAMS)}
        given = {**fixed, **{name: value for name, value in combination.items() if value is not None}}
        arguments = "".join(f", {name} := {argument(value)}" for name, value in given.items())
        return Sql(f"compare({text(self._of)}{arguments})")


def _listed(names: str | Sequence[str]) -> Sequence[str]:
    return (names,) if isinstance(names, str) else names


def _held(comment: str | None) -> str:
    """What a table with another comment holds."""
    try:
        said = json.loads(comment or "")
        of, given = said["compare"], "".join(f", {name} = {value!r}" for name, value in said["with"].items())
    except (ValueError, TypeError, KeyError, AttributeError):
        return "something else"
    return f"compare({of!r}{given})"
