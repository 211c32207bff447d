"""Make the functions available in the SQL of a Spark session: each call is replaced by a view of its result."""

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

_ORIGINAL_SQL = "without_dbanon"


def install(
    session: SparkSession,
    *,
    policy: Any = None,
    hierarchies: Mapping[str, Any] | None = None,
    max_partition: int | None = None,
) -> None:
    """Make `session.sql("SELECT * FROM best('patients', k=10)")` work, for every algorithm.

    NAME_classes and NAME_metrics work, too. Arguments are written as in DuckDB. The method `sql` of the session object
    is replaced: a call is computed when the statement is read, before anything else in it, so EXPLAIN computes it, too.
    Only this session object has the functions, not other clients of the same Spark. Installing again replaces the
    policy.

    Args:
        session: The session, whose `sql` is replaced.
        policy: A DuckDB database that declares tables by name, rows of dbanon.policy with a `table_name`, or policies
            as for `anonymize` by table. Tables are resolved by Spark's catalog. A table or view that a given policy
            does not name is refused: a view over a table needs rows of its own.
        hierarchies: As for `anonymize`.
        max_partition: As for `anonymize`.
    """
    original_sql: Callable[..., DataFrame] = getattr(session.sql, _ORIGINAL_SQL, session.sql)

    def sql(query: str, *args: Any, **kwargs: Any) -> DataFrame:
        """Run a statement of Spark after replacing its calls of dbanon's functions by temporary views of their results.

        The views are dropped when the DataFrame has been created.
        """
        views: list[str] = []
        try:
            return original_sql(
                _replace_calls(session, query, policy, hierarchies, max_partition, views), *args, **kwargs
            )
        finally:
            for view in views:
                session.catalog.dropTempView(view)

    setattr(sql, _ORIGINAL_SQL, original_sql)
    session.sql = sql


def _replace_calls(
    session: SparkSession, query: str, policy: Any, hierarchies: Any, max_partition: int | None, views: list[str]
) -> str:
    """Compute every call in a statement; return the statement with names of temporary views in place of the calls.

    Args:
        session: The session, in which the temporary views are created.
        query: The statement.
        policy: As for `install`.
        hierarchies: As for `install`.
        max_partition: The most combinations of quasi-identifiers in one partition, unless a call has its own.
        views: Output: the names of the views are appended, also if a later call fails.
    """
    pieces, copied_to = [], 0
    for start, end in _call_spans(query):
        with connect() as con:
            function, table, arguments = con.parse_call(f"FROM {query[start:end]}")
        source = session_tables.policy_source(session, table, policy, hierarchies or {})
        release = frame_release(
            session.table(table), function, source, None, arguments.pop("max_partition", max_partition), arguments
        )
        views.append(f"dbanon_{uuid.uuid4().hex}")
        release.createTempView(views[-1])
        pieces += [query[copied_to:start], views[-1]]
        copied_to = end
    return "".join([*pieces, query[copied_to:]])


def _call_spans(query: str) -> Iterator[tuple[int, int]]:
    """Yield the (start, end) offsets of each call of an algorithm's function in a statement.

    Nested calls are not searched.
    """
    start: int | None = None
    depth, previous = 0, None
    for token in code_tokens(query, SPARK):
        if start is not None:
            depth += (token.text == "(") - (token.text == ")")
            if depth == 0:
                yield start, token.end
                start = None
        elif token.text == "(" and previous is not None and previous.text.lower() in _release_functions():
            start, depth = previous.start, 1
        previous = token


@cache
def _release_functions() -> frozenset[str]:
    """Return the names NAME, NAME_classes and NAME_metrics of all algorithms."""
    algorithms = [name.removesuffix("_metrics") for name in table_functions() if name.endswith("_metrics")]
    return frozenset(algorithm + ending for algorithm in algorithms for ending in KIND_BY_ENDING)
