"""Return the SQL that table functions run, formatted for reading."""

import re
from typing import Any

from dbanon import errors
from dbanon.runtime import session
from dbanon.sqltext.cte_steps import CHAPTERS, chapter_sql
from dbanon.sqltext.qualify_builtins import strip_blank_lines
from dbanon.sqltext.statement_layout import lay_out
from dbanon.table_functions.parameters import format_value


def explain(connection: Any, query: str, parameters: object = None, *, chapter: str | None = None) -> str:
    """Return the SQL statement that each table function in a query runs, with a comment on every step.

    The statement of a release has four chapters: `read`, `cluster`, `generalize` and `check`; that of classes or
    metrics has a fifth, `measure`. The query is planned and not run. Equal statements of equal functions are listed
    once. The text is for custodians: it names withheld columns. dbanon runs the same text without comments and with
    qualified names of DuckDB's functions, so that no macro can replace them.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied.
        query: A statement that calls table functions.
        parameters: Values of its prepared parameters.
        chapter: The chapter to return, such as `check`; by default the whole statements.

    Returns:
        The statements, or their chapters, each below a comment that names its function. Lines have at most 120
        characters. A whole statement that is pasted into the same connection returns the same rows.

    Raises:
        InvalidArgumentError: The query calls no table function, or its statements have no such chapter.
        DbanonError: A call in the query raises it.

    Examples:
        >>> import dbanon
        >>> dbanon.explain(dbanon.connect(), "FROM algorithms()").splitlines()[0]
        '-- The statement of algorithms.'
    """
    current = session.find_session(session.plain_connection(connection))
    planned: list[tuple[str, str]] = []
    explain_query = f"EXPLAIN (FORMAT json) {query}"
    with current.recorded.filling(statements=planned):
        connection.execute(explain_query) if parameters is None else connection.execute(explain_query, parameters)
        connection.fetchall()
    statements = dict.fromkeys(planned)
    if not statements:
        raise errors.InvalidArgumentError(
            "explain", "query", "a statement that calls a table function", format_value(query)
        )
    texts = [(function, _readable_text(statement, chapter)) for function, statement in statements]
    if not any(text for _, text in texts):
        chapter_names = [name for name in CHAPTERS if any(chapter_sql(statement, name) for _, statement in statements)]
        accepted = (
            f"one of {', '.join(map(repr, chapter_names))}"
            if chapter_names
            else "omitted, as this statement has no chapters"
        )
        raise errors.InvalidArgumentError("explain", "chapter", accepted, format_value(chapter))
    return "\n".join(f"-- The statement of {function}.\n{text}" for function, text in texts if text)


def _readable_text(statement: str, chapter: str | None) -> str:
    """Return a statement, or one chapter of it, in short lines, with an empty line before and after each heading.

    A whole statement ends with a semicolon. The text is empty if the statement has no such chapter.
    """
    text = f"{strip_blank_lines(statement)};" if chapter is None else chapter_sql(statement, chapter)
    headed = re.sub(r"(-- Chapter \d(?:.*\n-- )*?.*\.)\n", r"\1\n--\n", text)
    return re.sub(r"\n(?=-- Chapter \d)", "\n\n", lay_out(headed)).replace("\n--\n", "\n\n")
