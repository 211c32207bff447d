"""The functions in the SQL of a Spark session: a call is answered, and its answer takes its place in the statement."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from dbanon.api.connection import connect
from dbanon.integrations.spark import session_tables
from dbanon.integrations.spark.api import frame_release
from dbanon.sqltext.tokenizer import SPARK, code_tokens
from dbanon.table_functions.registry import table_functions
from dbanon.table_functions.table_function import KIND_BY_ENDING

_PLAIN = "without_dbanon"


def install(
    session: SparkSession, *, policy: Any = None, hierarchies: Mapping[str, Any] | None = None, cell: int | None = None
) -> None:
    """Makes `session.sql("SELECT * FROM kacpc('patients', k=10)")` work, with NAME_classes and NAME_metrics, for every
    algorithm; arguments are written as in DuckDB.

    `policy` is a DuckDB database that declares the tables by name, rows of dbanon.policy with a `table_name`, or what
    `anonymize` takes, by table. Tables are found as Spark's catalog finds them. A table, view or temporary view that
    a given policy does not name is refused: a view over a table needs rows of its own. `hierarchies`
    and `cell` as there. A call is answered when the statement is read, before anything else in it is done: EXPLAIN
    answers it, too. It is a method of this session object alone: another client of the same Spark does not have it.
    """
    plain: Callable[..., DataFrame] = getattr(session.sql, _PLAIN, session.sql)

    def sql(query: str, *args: Any, **kwargs: Any) -> DataFrame:
        views: list[str] = []
        try:
            return plain(_answered(session, query, policy, hierarchies, cell, views), *args, **kwargs)
        finally:
            for view in views:
                session.catalog.dropTempView(view)

    setattr(sql, _PLAIN, plain)
    session.sql = sql


def _answered(
    session: SparkSession, query: str, policy: Any, hierarchies: Any, cell: int | None, views: list[str]
) -> str:
    """Return the statement with the names of views in place of calls."""
    pieces, done = [], 0
    for start, end in _calls(query):
        with connect() as con:
            function, table, given = con.parse_call(f"FROM {query[start:end]}")
        source = session_tables.policy_source(session, table, policy, hierarchies or {})
        answer = frame_release(session.table(table), function, source, None, given.pop("cell", cell), given)
        views.append(f"dbanon_{uuid.uuid4().hex}")
        answer.createTempView(views[-1])
        pieces += [query[done:start], views[-1]]
        done = end
    return "".join([*pieces, query[done:]])


def _calls(query: str) -> Iterator[tuple[int, int]]:
    """Where calls of our functions begin and end."""
    begun: int | None = None
    depth, before = 0, None
    for token in code_tokens(query, SPARK):
        if begun is not None:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                yield begun, token.end
                begun = None
        elif token.text == "(" and before is not None and before.text.lower() in _functions():
            begun, depth = before.start, 1
        before = token


@cache
def _functions() -> frozenset[str]:
    """NAME, NAME_classes and NAME_metrics of every algorithm."""
    known = table_functions()
    return frozenset(name for name in known if name.removesuffix(_ending(name)) + "_metrics" in known)


def _ending(name: str) -> str:
    return next((ending for ending in KIND_BY_ENDING if ending and name.endswith(ending)), "")
