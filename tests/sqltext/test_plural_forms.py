"""Counts in messages: one thing is in the singular, in Python and in SQL."""

import duckdb
import pytest

from dbanon import errors
from dbanon.sqltext.messages import error_sql, plural_form, sql_placeholder


@pytest.mark.parametrize(("count", "form"), [(0, "rows"), (1, "row"), (2, "rows"), (11, "rows"), ("1", "row")])
def test_plural_form_is_singular_for_one_alone(count: object, form: str) -> None:
    assert plural_form(count, "row", "rows") == form


@pytest.mark.parametrize(
    ("count", "text"),
    [(1, "1 distinct value is '*'"), (2, "2 distinct values are '*'"), (21, "21 distinct values are")],
)
def test_message_template_agrees_with_count(count: int, text: str) -> None:
    assert text in str(errors.ReservedValueError("shapes", "star", count))


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (1, "1 person of visits is singled out by their linked rows"),
        (12, "12 persons of visits are singled out by their linked rows"),
    ],
)
def test_message_agrees_with_count_of_running_statement(count: int, text: str) -> None:
    placeholder = sql_placeholder("(SELECT n FROM counts)")
    message = error_sql(errors.LinkedRowsBelowKError("kacpc", "visits", ["patient"], placeholder, 10))
    rows = duckdb.execute(f"WITH counts AS (SELECT {count} AS n) SELECT {message}").fetchall()
    assert text in rows[0][0]
