"""The declaration of a table function: name, arguments, parameters, handler, example and documentation.

A module that `name_index` names declares its table functions in `FUNCTIONS`; macros, validation, completion and
documentation follow from that.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.runtime.session import Session
from dbanon.source import catalog
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier
from dbanon.table_functions import arguments, parameters
from dbanon.table_functions.options import Options
from dbanon.table_functions.parameter_types import Choice, Text
from dbanon.table_functions.parameters import Parameter

KIND_BY_ENDING = {"": "release", "_classes": "classes", "_metrics": "metrics"}
"""The kind of each of an algorithm's three functions, by the ending of the name."""

MAX_CAPTURED = 10
"""Maximum number of captured names; binding time doubles with each of them."""


@dataclass(frozen=True)
class TableFunction:
    """The declaration of one table function.

    Functions that publish have a `kind` (release, classes, metrics, inference), and `algorithm` or `specialize`.

    Attributes:
        name: The name that a query calls.
        positional: The names of its positional arguments.
        parameters: Its named parameters.
        doc: Its description.
        handler: Returns the SQL of a call, or raises a DbanonError.
        example: Its example in the manual.
        algorithm: The algorithm of a function that publishes.
        kind: What the function returns about a release: release, classes, metrics or inference.
        specialize: Takes a call's arguments and returns this function with the parameters of the algorithm that they
            name.
        positional_slots: Names of the first parameters that may also be given by position alone, as texts.
        system: The stream algorithm, for functions of streams.
    """

    name: str
    positional: tuple[str, ...]
    parameters: tuple[Parameter, ...]
    doc: str
    handler: Callable[[Call], Sql]
    example: Example
    algorithm: str | None = None
    kind: str | None = None
    specialize: Callable[[Mapping[str, object]], TableFunction] | None = None
    positional_slots: tuple[str, ...] = ()
    stream_algorithm: str | None = None

    @property
    def captured(self) -> tuple[str, ...]:
        """The names of parameters whose `name = value` is recognized even if a table has a column of that name.

        A function with all parameters of `arguments.CAPTURED` has those (and `min_records` if its kind is inference). A
        function with at most MAX_CAPTURED parameters has all of them. Any other function has the first MAX_CAPTURED
        parameters that take neither a text nor a choice of words.
        """
        names = tuple(p.name for p in self.parameters)
        if set(arguments.CAPTURED) <= set(names):  # takes what algorithms take
            return (*arguments.CAPTURED, "min_records") if self.kind == "inference" else arguments.CAPTURED
        if len(names) <= MAX_CAPTURED:
            return names
        return tuple(p.name for p in self.parameters if not isinstance(p.kind, Text | Choice))[:MAX_CAPTURED]


@dataclass(frozen=True)
class Call:
    """One call of a table function, as its handler gets it.

    Attributes:
        function: The table function.
        positional: Positional arguments by name, not validated yet.
        options: Validated parameters.
        session: The session of the caller.
        cursor: A cursor that sees committed data.
        path: The caller's current database, schema and search path.
    """

    function: TableFunction
    positional: Mapping[str, object]
    options: Options
    session: Session
    cursor: Any
    path: catalog.SearchPath

    def text(self, name: str) -> str:
        """Return the positional argument of this name, which must be a text.

        Raises:
            MissingArgumentError: It is not given.
            InvalidArgumentError: It is no text.
        """
        value = self.positional.get(name)
        if value is None:
            raise errors.MissingArgumentError(
                self.function.name, name, "a text", f"dbanon docs {self.function.name} shows the call"
            )
        if not isinstance(value, str):
            raise errors.InvalidArgumentError(self.function.name, name, "a text", parameters.format_value(value))
        return value

    def source(self, is_declaring: bool = False) -> catalog.Source:
        """Return the relation that the argument `tbl` names, with its columns.

        If it is a temporary relation with a temporary policy, the result's `database` is that of this policy.

        Args:
            is_declaring: Passed to `catalog.resolve_source`, whose errors are raised.
        """
        table_name, local = self.text("tbl"), self.session.temporary.columns
        source = catalog.resolve_source(self.function.name, table_name, self.cursor, self.path, local, is_declaring)
        policy = self.session.temporary.policies.get(names.fold_case(source.table))
        if policy is None or policy.database is None or source.sql != identifier(source.table):
            return source
        return replace(source, database=policy.database)

    def column(self, source: catalog.Source) -> str:
        """Return the name of the column that the argument `col` names, with the spelling of the source.

        Raises:
            UnknownColumnError: The source has no such column.
        """
        return source.column(self.function.name, self.text("col"), "col")

    def holds(self, condition: str) -> bool:
        """Return whether a SQL condition without columns is true, by running it; NULL counts as false."""
        return bool(self.cursor.execute(f"SELECT coalesce({condition}, false)").fetchall()[0][0])

    @cached_property
    def hierarchies(self) -> Callable[[str], list[str]]:
        """A function from the name of a database to the names of the hierarchies stored in it, read once per call."""
        return cache(partial(catalog.stored_hierarchies, self.cursor))

    def attached_databases(self) -> list[str]:
        """Return the names of the attached databases that are not internal ones of DuckDB, sorted."""
        rows = self.cursor.execute(
            "SELECT database_name FROM system.main.duckdb_databases() WHERE NOT internal ORDER BY 1 ASC"
        )
        return [row[0] for row in rows.fetchall()]
