"""An example that the manual shows and the tests run, on the database that `dbanon demo` makes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """Code in SQL, Python or a shell (`sh`). `before` are SQL statements that must have run."""

    code: str
    before: tuple[str, ...] = ()
    language: str = "sql"


SAFE = ("CREATE MATERIALIZED ANONYMIZED VIEW safe AS SELECT * FROM kacpc('patients', k = 10);",)
"""Makes a release of the patients."""
