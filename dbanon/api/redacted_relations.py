"""Relations of DuckDB whose errors quote no value of a source, although they run when their rows are fetched.

From DuckDB 2.0 on a relation can be given the class `RedactedRelation`; earlier relations remain as they are.
"""

import inspect
import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import duckdb

from dbanon.errors import redaction

_SPECIAL_METHODS = ("__repr__", "__str__", "__len__", "__getitem__", "__getattr__", "__arrow_c_stream__")
"""Special methods of relations that run them."""

_SOURCE_READS: weakref.WeakKeyDictionary[Any, tuple[str, tuple[str, ...]]] = weakref.WeakKeyDictionary()
"""The function that a relation calls, and the sources that it reads, by relation."""


_MACRO_CREATORS: weakref.WeakKeyDictionary[Any, Callable[[], object]] = weakref.WeakKeyDictionary()
"""A function that creates all macros of dbanon, by relation of a connection that may lack some."""

_METHODS_WITHOUT_SQL = frozenset(
    ("__repr__", "__str__", "__len__", "__arrow_c_stream__", "alias", "arrow", "close", "columns", "description", "df",
     "dtypes", "execute", "explain", "fetch_arrow_reader", "fetch_arrow_table", "fetch_df_chunk", "fetch_record_batch",
     "fetchall", "fetchdf", "fetchmany", "fetchnumpy", "fetchone", "limit", "pl", "record_batch", "shape", "show",
     "sql_query", "tf", "to_arrow_reader", "to_arrow_table", "to_df", "torch", "type", "types")
)  # fmt: skip
"""Methods and properties of relations that take no SQL, so that no further macro can be needed."""


class RedactedRelation(duckdb.DuckDBPyRelation):
    """A relation whose errors are replaced as by `redaction.redact_values`; so are those of relations made of it."""

    __slots__ = ()


def redact_relation(
    relation: Any, function: str, sources: Sequence[str], create_macros: Callable[[], object] | None = None
) -> Any:
    """Return the relation, whose errors from now on are replaced where their message may quote a value.

    Args:
        relation: A relation of DuckDB; any other object is returned unchanged.
        function: The function that it calls, for messages.
        sources: The tables that it reads, for messages.
        create_macros: Creates all macros on its connection, before it is given SQL that may need them.
    """
    if type(relation) is duckdb.DuckDBPyRelation:
        try:
            relation.__class__ = RedactedRelation
        except TypeError:  # DuckDB before 2.0
            if create_macros is not None:
                create_macros()
            return relation
        _SOURCE_READS[relation] = function, tuple(sources)
        if create_macros is not None:
            _MACRO_CREATORS[relation] = create_macros
    return relation


def _redacted(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method of RedactedRelation that calls the method `name` of DuckDB's relation.

    The call is evaluated among the variables of the caller: DuckDB looks for DataFrames there.
    """

    def call(relation: Any, *arguments: Any, **options: Any) -> Any:
        """Call the method; replace an error whose message may quote a value, and redact a relation that it returns."""
        function, sources = _SOURCE_READS.get(relation, ("dbanon", ()))
        create_macros = _MACRO_CREATORS.get(relation)
        if create_macros is not None and name not in _METHODS_WITHOUT_SQL:
            create_macros()
        caller = sys._getframe(1)
        variables = {**caller.f_locals, "dbanon_method": method, "dbanon_call": (relation, arguments, options)}
        with redaction.redact_values(function, lambda: sources):
            code = "dbanon_method(dbanon_call[0], *dbanon_call[1], **dbanon_call[2])"
            result = eval(code, caller.f_globals, variables)  # noqa: S307
        return redact_relation(result, function, sources, create_macros)

    return call


def _redact_methods() -> None:
    """Give RedactedRelation a redacted method or property for each public one of DuckDB's relation."""
    for name in dir(duckdb.DuckDBPyRelation):
        if name.startswith("_") and name not in _SPECIAL_METHODS:
            continue
        attribute = inspect.getattr_static(duckdb.DuckDBPyRelation, name)
        if isinstance(attribute, property):
            setattr(RedactedRelation, name, property(_redacted(name, attribute.__get__)))
        elif callable(method := getattr(duckdb.DuckDBPyRelation, name)):
            setattr(RedactedRelation, name, _redacted(name, method))


_redact_methods()
