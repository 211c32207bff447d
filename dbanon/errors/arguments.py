"""Mistakes in a call."""

from __future__ import annotations

from collections.abc import Iterable

from dbanon.errors.base import DbanonError, near
from dbanon.errors.example import SAFE, Example


class InvalidArgument(DbanonError):
    """A parameter's value is outside what it accepts."""

    outcome = "usage"
    words = r": [\w ]+ must be .+, got "
    example = Example("REFRESH MATERIALIZED ANONYMIZED VIEW safe WITH (refresh = 'hodl');", SAFE)

    def __init__(self, function: str, name: str, accepts: str, got: object) -> None:
        super().__init__(f"{function}: {name} must be {accepts}, got {got}.")


class MissingArgument(DbanonError):
    """A required parameter was not given (or given as NULL)."""

    outcome = "usage"
    words = " is missing; it must be "
    example = Example("FROM kacpc('patients');")

    def __init__(self, function: str, name: str, accepts: str, example: str) -> None:
        super().__init__(f"{function}: {name} is missing; it must be {accepts}. Hint: {example}.")


class UnknownParameter(DbanonError):
    """A parameter name that the function does not have."""

    outcome = "usage"
    words = ": there is no parameter '"
    example = Example("FROM k_anonymity('patients', persn = 'patient_number');")

    def __init__(self, function: str, name: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(
            f"{function}: there is no parameter '{name}'.{near(name, known)} Accepted: {', '.join(known)}."
        )


class UnreadableArgument(DbanonError):
    """A positional argument that is not `name = literal`."""

    outcome = "usage"
    words = ": cannot read the argument "
    example = Example("FROM kacpc('patients', 10);")

    def __init__(self, function: str, text: str) -> None:
        super().__init__(
            f"{function}: cannot read the argument {text}. Hint: arguments after the table name are "
            "name = literal, such as k = 10 or qi = ['age', 'zip']."
        )


class RepeatedArgument(DbanonError):
    """The same parameter twice."""

    outcome = "usage"
    words = r" is given twice\. Hint: give it once"
    example = Example(
        "CREATE MATERIALIZED ANONYMIZED VIEW safe WITH (composition = 'warn', composition = 'refuse')\n"
        "AS SELECT * FROM kacpc('patients', k = 10);"
    )

    def __init__(self, function: str, name: str) -> None:
        super().__init__(f"{function}: {name} is given twice. Hint: give it once.")


class UnknownAlgorithm(DbanonError):
    """An algorithm that is not registered."""

    outcome = "usage"
    words = "there is no algorithm '"
    example = Example("FROM inference('patients', k = 10, algorithm = 'mondrain');")

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(f"there is no algorithm '{name}'.{near(name, known)} Registered: {', '.join(known)}.")
