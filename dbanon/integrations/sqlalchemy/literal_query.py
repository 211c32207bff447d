"""Render a query with its values in the text, as DuckDB's functions over query texts require."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from sqlalchemy import Connection, Table
from sqlalchemy.sql.expression import ClauseElement

from dbanon.sqltext.quote import Sql, literal, text


@dataclass(frozen=True)
class LiteralQuery:
    """The text of a query without parameters, and the tables in its FROM clauses."""

    text: str
    tables: tuple[Table, ...]


def literal_query(connection: Connection, query: ClauseElement, values: Mapping[str, Any]) -> LiteralQuery:
    """Compile a query with the parameter values in its text; also collect the tables in its FROM clauses.

    The text is only bound, never run, so a value that has no literal is written as NULL.

    Args:
        connection: The connection, whose dialect and `schema_translate_map` apply.
        query: The query.
        values: Values of parameters by name, in addition to those that the query has.
    """
    tables: dict[Table, None] = {}
    dialect = connection.dialect

    class Compiler(dialect.statement_compiler):  # type: ignore[name-defined, misc]
        """The dialect's compiler, which also collects the tables and renders all values as literals."""

        def visit_table(self, table: Any, *given: Any, asfrom: bool = False, **kw: Any) -> Any:
            """Compile a table, and collect it if it is in a FROM clause."""
            if asfrom and isinstance(table, Table):
                tables[without_annotations(table)] = None
            return super().visit_table(table, *given, asfrom=asfrom, **kw)

        def render_literal_value(self, value: Any, type_: Any, **_: Any) -> str:
            """Return a value as a SQL literal, after the type's conversion for the driver."""
            to_driver_value = type_.dialect_impl(dialect).bind_processor(dialect)
            return _literal(value if to_driver_value is None else to_driver_value(value))

    translated = connection.get_execution_options().get("schema_translate_map")
    compiler_options = {} if not translated else {"schema_translate_map": translated, "render_schema_translate": True}
    query_with_values = query.params(values) if values else query
    compiled = Compiler(dialect, query_with_values, compile_kwargs={"literal_binds": True}, **compiler_options)
    return LiteralQuery(str(compiled.string), tuple(tables))


def without_annotations(table: Any) -> Table:
    """Return the original table of a copy that SQLAlchemy annotated; any other table unchanged."""
    original: Table = table._deannotate() if hasattr(table, "_deannotate") else table
    return original


def _literal(value: Any) -> Sql:
    """Return a value as a SQL literal; dates as text, and NULL for a value that has no literal."""
    if isinstance(value, (datetime, date)):
        return text(value.isoformat())
    if isinstance(value, Decimal) and value.is_finite():
        return Sql(f"{value:f}")
    if value is None or isinstance(value, (bool, int, float, str)):
        with contextlib.suppress(ValueError):
            return literal(value)
    return Sql("NULL")
