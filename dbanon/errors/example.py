"""Examples of errors and functions on the demo database (`dbanon demo`): the manual shows them, and tests run them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """Code in SQL, Python or a shell (`sh`), and the SQL statements that must run before it (`setup`)."""

    code: str
    setup: tuple[str, ...] = ()
    language: str = "sql"


@dataclass(frozen=True)
class Situation:
    """A description of when an error is raised, if no example on the demo database can raise it.

    `arguments` are sample arguments of the error's class.
    """

    text: str
    arguments: tuple[object, ...]


SAFE = ("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k = 10);",)
"""Creates a release of the patients."""

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
"""Columns with difficult types and values."""
