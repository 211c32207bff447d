"""A query as DuckDB's functions over query texts take it: with its values in the text, and the tables it is from."""

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
    """The text of a query without parameters, and the tables that it names in FROM."""

    text: str
    tables: tuple[Table, ...]


def literal_query(connection: Connection, query: ClauseElement, values: Mapping[str, Any]) -> LiteralQuery:
    """Compile a query with its values in its text.

    The text is bound and never run, so a value that has no literal is written as NULL.
    """
    tables: dict[Table, None] = {}
    dialect = connection.dialect

    class Compiler(dialect.statement_compiler):  # type: ignore[name-defined, misc]
        """The compiler of the dialect, which notes the tables and writes all values."""

        def visit_table(self, table: Any, *given: Any, asfrom: bool = False, **kw: Any) -> Any:
            if asfrom and isinstance(table, Table):
                tables[without_annotations(table)] = None
            return super().visit_table(table, *given, asfrom=asfrom, **kw)

        def render_literal_value(self, value: Any, type_: Any, **_: Any) -> str:
            process = type_.dialect_impl(dialect).bind_processor(dialect)
            return _literal(value if process is None else process(value))

    translated = connection.get_execution_options().get("schema_translate_map")
    more = {} if not translated else {"schema_translate_map": translated, "render_schema_translate": True}
    bound = query.params(values) if values else query
    compiled = Compiler(dialect, bound, compile_kwargs={"literal_binds": True}, **more)
    return LiteralQuery(str(compiled.string), tuple(tables))


def without_annotations(table: Any) -> Table:
    """Return the table itself, where SQLAlchemy works on an annotated copy."""
    found: Table = table._deannotate() if hasattr(table, "_deannotate") else table
    return found


def _literal(value: Any) -> Sql:
    if isinstance(value, (datetime, date)):
        return text(value.isoformat())
    if isinstance(value, Decimal) and value.is_finite():
        return Sql(f"{value:f}")
    if value is None or isinstance(value, (bool, int, float, str)):
        with contextlib.suppress(ValueError):
            return literal(value)
    return Sql("NULL")
