"""An error with the example that gives it."""

from __future__ import annotations

from dataclasses import dataclass

from dbanon.errors import DbanonError
from dbanon.functions.example import Example


@dataclass(frozen=True)
class Mistake:
    """An error as it is given out, with the example that gives it, or in words when it comes."""

    error: DbanonError
    example: Example | None = None
    when: str = ""


def sql(error: DbanonError, code: str, *before: str) -> Mistake:
    """An error of a SQL statement, after others."""
    return Mistake(error, Example(code, before))


def python(error: DbanonError, code: str, *before: str) -> Mistake:
    """An error of Python code, after SQL statements."""
    return Mistake(error, Example(code, before, "python"))


def sh(error: DbanonError, code: str) -> Mistake:
    """An error of a command."""
    return Mistake(error, Example(code, language="sh"))


FEW = "CREATE TABLE few AS FROM patients WHERE patient_number <= 100200;"
"""Two hundred patients, without a policy."""

SHAPES = """CREATE TABLE shapes AS
SELECT
    [zip] AS zips,
    IF(patient_number % 2 = 0, '*', 'x') AS star,
    IF(patient_number % 2 = 0, sex, NULL) AS sex,
    IF(patient_number % 2 = 1, zip, NULL) AS zip,
    IF(patient_number % 4 = 0, 'F', 'M') AS gender,
    IF(patient_number % 4 = 0, 'nan'::DOUBLE, 70) AS weight,
    NULL::VARCHAR AS nothing
FROM patients
WHERE patient_number <= 100200;"""
"""Columns that are difficult."""
