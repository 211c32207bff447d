"""Examples that the manual shows, on the database that `dbanon demo` makes; tests run them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """Code in SQL, Python or a shell (`sh`). `before` are SQL statements that must have run."""

    code: str
    before: tuple[str, ...] = ()
    language: str = "sql"


@dataclass(frozen=True)
class Situation:
    """When an error is raised that no example on the demo database can raise, and sample arguments of its class."""

    text: str
    arguments: tuple[object, ...]


SAFE = ("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k = 10);",)
"""Makes a release of the patients."""

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
