"""Parameters of table functions, as data; what their values must be is in dbanon.table_functions.parameter_types."""

from collections.abc import Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.table_functions.parameter_types import Kind


@dataclass(frozen=True)
class Parameter:
    """One parameter: its name, what it accepts, its default and one sentence for the documentation."""

    name: str
    kind: Kind
    doc: str
    default: object = None
    required: bool = False
    example: str = ""


def validated(function: str, parameters: tuple[Parameter, ...], given: Mapping[str, object]) -> dict[str, object]:
    """Accepted values of all parameters by name, defaults filled in.

    Raises UnknownParameterError, MissingArgumentError or InvalidArgumentError. NULL means "not given".
    """
    by_name = {p.name: p for p in parameters}
    for name in given:
        if name.lower() not in by_name:
            raise errors.UnknownParameterError(function, name, by_name)
    lowered = {name.lower(): value for name, value in given.items()}
    accepted: dict[str, object] = {}
    for name, parameter in by_name.items():
        value = lowered.get(name)
        if value is None:
            if parameter.required:
                raise errors.MissingArgumentError(function, name, str(parameter.kind), parameter.example)
            accepted[name] = parameter.default
            continue
        try:
            accepted[name] = parameter.kind.check(value)
        except ValueError as error:
            raise errors.InvalidArgumentError(function, name, str(error) or str(parameter.kind), shown(value)) from None
    return accepted


def shown(value: object) -> str:
    """Return a value as SQL would show it, shortened."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
