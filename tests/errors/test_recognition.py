"""Errors that DuckDB passes on as text are recognized as errors of dbanon, by their class."""

from __future__ import annotations

import tomllib
from pathlib import Path

import duckdb

from dbanon import errors
from dbanon.errors.exit_codes import recognized_error

MESSAGES = Path(errors.__file__).parents[1] / "cli" / "manual" / "error_messages.toml"


def test_recorded_refusals_and_mistakes_are_recognized_by_class() -> None:
    for name, message in tomllib.loads(MESSAGES.read_text(encoding="utf-8")).items():
        error_class = getattr(errors, name)
        found = recognized_error(duckdb.InvalidInputException(f"Invalid Input Error: {message}\n\nLINE 1: FROM t"))
        if error_class.outcome == "failed":
            assert found is None or type(found) is error_class, name
        else:
            assert type(found) is error_class and str(found) == message, name


def test_failures_about_keys_are_recognized_by_class() -> None:
    messages = tomllib.loads(MESSAGES.read_text(encoding="utf-8"))
    for name in ("NullKeyError", "DuplicateKeyError", "OrphanRowsError"):
        error = recognized_error(duckdb.InvalidInputException(f"Invalid Input Error: {messages[name]}"))
        assert type(error) is getattr(errors, name)


def test_errors_of_duckdb_are_not_recognized() -> None:
    assert recognized_error(duckdb.CatalogException("Catalog Error: Table with name t does not exist!")) is None
    assert recognized_error(ValueError("k must be an integer")) is None
    unknown = duckdb.InvalidInputException("Invalid Input Error: mondrian: anything")
    assert recognized_error(unknown) is None
    assert type(recognized_error(unknown, ["mondrian"])) is errors.DbanonError
