"""Mistakes in a call."""

from collections.abc import Collection

from dbanon.errors.base import RefusedError, UsageError, near
from dbanon.errors.example import FEW, SAFE, Example


class InvalidArgumentError(UsageError):
    """A parameter's value is outside what it accepts."""

    words = r": [\w ]+ must be .+, got "
    message = "{function}: {name} must be {accepts}, got {got}."
    example = Example("REFRESH MATERIALIZED ANONYMIZED VIEW safe WITH (refresh = 'hodl');", SAFE)


class MissingArgumentError(UsageError):
    """A required parameter was not given (or given as NULL)."""

    message = "{function}: {name} is missing; it must be {accepts}. Hint: {example}."
    example = Example("FROM kacpc('patients');")


class UnknownParameterError(UsageError):
    """A parameter name that the function does not have."""

    words = ": there is no parameter '"
    example = Example("FROM k_anonymity('patients', persn = 'patient_number');")

    def __init__(self, function: str, name: str, known: Collection[str]) -> None:
        super().__init__(
            f"{function}: there is no parameter '{name}'.{near(name, known)} Accepted: {', '.join(known)}."
        )


class UnreadableArgumentError(UsageError):
    """A positional argument that is not `name = literal`."""

    message = (
        "{function}: cannot read the argument {text}. Hint: arguments after the table name are "
        "name = literal, such as k = 10 or qi = ['age', 'zip']."
    )
    example = Example("FROM kacpc('patients', 10);")


class RepeatedArgumentError(UsageError):
    """The same parameter twice."""

    message = "{function}: {name} is given twice. Hint: give it once."
    example = Example(
        "CREATE MATERIALIZED ANONYMIZED VIEW safe WITH (composition = 'warn', composition = 'refuse')\n"
        "AS SELECT * FROM kacpc('patients', k = 10);"
    )


class UnknownAlgorithmError(UsageError):
    """An algorithm that is not registered."""

    words = "there is no algorithm '"
    example = Example("FROM inference('patients', k = 10, algorithm = 'mondrain');")

    def __init__(self, name: str, known: Collection[str]) -> None:
        super().__init__(f"there is no algorithm '{name}'.{near(name, known)} Registered: {', '.join(known)}.")


class KOutOfRangeError(RefusedError):
    """k cannot be met by the table."""

    words = r": k must be between 2 and \d+ \("
    message = (
        "{function}: k must be between 2 and {count} ({table} has {count} {unit}), got {k}. Hint: lower k or "
        "withhold fewer rows."
    )
    example = Example("FROM kacpc('few', k = 500, qi = ['sex']);", (FEW,))


class UnusedArgumentError(UsageError):
    """A parameter that would be ignored."""

    message = "{function}: {parameter} has no effect, because {why}. Hint: leave it out."
    example = Example("FROM kacpc('patients', k = 10, emd = 'ordered');")
