"""Mistakes in the arguments of a call."""

from collections.abc import Collection, Mapping

from dbanon.errors import renamed_names
from dbanon.errors.base import RefusedError, UsageError, did_you_mean
from dbanon.errors.example import FEW, SAFE, Example


class InvalidArgumentError(UsageError):
    """A parameter's value is outside what it accepts."""

    message_pattern = r": [\w ]+ must be .+, got "
    message = "{function}: {name} must be {accepts}, got {got}."
    example = Example("REFRESH MATERIALIZED ANONYMIZED VIEW safe WITH (mode = 'hodl');", SAFE)


class MissingArgumentError(UsageError):
    """A required parameter was not given (or given as NULL)."""

    message = "{function}: {name} is missing; it must be {accepts}. Hint: {example}."
    example = Example("FROM kacpc('patients');")


class UnknownParameterError(UsageError):
    """A parameter that the function does not have."""

    message_pattern = ": there is no parameter '"
    example = Example("FROM k_anonymity('patients', persn = 'patient_number');")

    def __init__(
        self, function: str, name: str, accepted: Collection[str], renamed: Mapping[str, str] | None = None
    ) -> None:
        """Build the message; its hint is the new name of a renamed parameter, or the most similar accepted name.

        `renamed` has the new names of options that no table function has.
        """
        current = (renamed or {}).get(name.lower())
        current = current if current in accepted else renamed_names.current_parameter(name, accepted)
        hint = did_you_mean(name, accepted) if current is None else renamed_names.renamed_hint(name, current)
        accepted_names = ", ".join(accepted) or "no named parameters"
        super().__init__(f"{function}: there is no parameter '{name}'.{hint} Accepted: {accepted_names}.")


class RenamedFunctionError(UsageError):
    """A call of a function by the name that it had in an earlier version."""

    message = "{function}: there is no function '{function}'. '{function}' is now '{current}'."
    example = Example("FROM choose('patients', k = [10]);")


class UnreadableArgumentError(UsageError):
    """A positional argument that is not `name = literal`."""

    message = (
        "{function}: cannot read the argument {text}. Hint: arguments after the table name are "
        "name = literal, such as k = 10 or qi = ['age', 'zip']."
    )
    example = Example("FROM kacpc('patients', 10);")


class RepeatedArgumentError(UsageError):
    """A parameter that is given twice."""

    message = "{function}: {name} is given twice. Hint: give it once."
    example = Example(
        "CREATE MATERIALIZED ANONYMIZED VIEW safe WITH (composition = 'warn', composition = 'refuse')\n"
        "AS SELECT * FROM kacpc('patients', k = 10);"
    )


class UnknownAlgorithmError(UsageError):
    """An algorithm that is not registered."""

    message_pattern = "there is no algorithm '"
    example = Example("FROM inference('patients', k = 10, algorithm = 'mondrain');")

    def __init__(self, name: str, registered: Collection[str]) -> None:
        """Build the message, with the most similar of the registered algorithms as a hint."""
        super().__init__(
            f"there is no algorithm '{name}'.{did_you_mean(name, registered)} Registered: {', '.join(registered)}."
        )


class KOutOfRangeError(RefusedError):
    """A k that the table cannot meet."""

    message_pattern = r": k must be between 2 and \d+ \("
    message = (
        "{function}: k must be between 2 and {count} ({table} has {count} {unit}), got {k}. Hint: lower k or "
        "withhold fewer rows."
    )
    example = Example("FROM kacpc('few', k = 500, qi = ['sex']);", (FEW,))


class UnusedArgumentError(UsageError):
    """A parameter that would be ignored."""

    message = "{function}: {parameter} has no effect, because {why}. Hint: omit it."
    example = Example("FROM kacpc('patients', k = 10, ground_distance = 'ordered');")
