"""Checks of a statement name error messages, whose texts are in a relation after the checks."""

from __future__ import annotations

import duckdb
import pytest

from dbanon import errors
from dbanon.sqltext.messages import error_sql, sql_placeholder
from dbanon.sqltext.templates import fill_text

TEMPLATE = """
{%- from 'shared/messages.sql' import message_text, messages_by_name with context -%}
WITH counted AS (SELECT {{ size }} AS size),
checks AS (
    SELECT CASE WHEN size < 3 THEN {{ messages.failure('classes below k', small) }}
        WHEN size = 7 THEN {'name': 'unnamed', 'values': ['7']} END AS failure
    FROM counted
),
gate AS (
    SELECT CASE WHEN failure IS NULL THEN true ELSE error({{ message_text() }}) END AS passed
    FROM checks LEFT JOIN {{ messages_by_name() }}
)
FROM gate
"""


def gate_result(size: int) -> list[tuple[bool]]:
    """Return the rows of the gate of a class of this size."""
    small = error_sql(errors.GateRefusedError("kacpc", "classes below k", sql_placeholder("counted.size")))
    return duckdb.sql(fill_text(TEMPLATE, {"size": size, "small": small})).fetchall()


def test_failed_check_raises_its_message_with_count() -> None:
    assert gate_result(3) == [(True,)]
    with pytest.raises(duckdb.Error, match=r"kacpc: .* classes below k \(2\)\. Nothing was released"):
        gate_result(2)


def test_failed_check_without_message_raises() -> None:
    with pytest.raises(duckdb.Error, match="a check failed that has no message: unnamed"):
        gate_result(7)


def test_texts_are_inserted_as_they_are() -> None:
    table, count = sql_placeholder("'a{}b'"), sql_placeholder("7")

    def errors_by_name(table: str, count: object) -> dict[str, Exception]:
        """Return the errors of three checks by name."""
        return {
            "nulls": errors.UnexpectedNullError("kacpc", table, "{_}", count),
            "no values": errors.ColumnAllNullError("kacpc", table, "x {} y"),
            "NaN": errors.NonFiniteValueError("kacpc", table, "z", count),
        }

    template = """
    {%- from 'shared/messages.sql' import message_text, messages_by_name with context -%}
    WITH checks AS (
        SELECT [
            {% for name, error in errors.items() %}
            {{ messages.failure(name, error) }}{{ sql(', ') if not loop.last }}
            {% endfor %}
        ] AS failures
    )
    FROM (
        SELECT {{ message_text() }} AS message
        FROM (SELECT unnest(failures) AS failure FROM checks)
        LEFT JOIN {{ messages_by_name() }}
    )
    """
    values = {"errors": {name: error_sql(error) for name, error in errors_by_name(table, count).items()}}
    messages = {row[0] for row in duckdb.sql(fill_text(template, values)).fetchall()}
    assert messages == {str(error) for error in errors_by_name("a{}b", 7).values()}
