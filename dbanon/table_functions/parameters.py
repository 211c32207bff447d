"""Parameters of table functions as data; the types of their values are in `parameter_types`."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.table_functions.parameter_types import ParameterType


@dataclass(frozen=True)
class Parameter:
    """The declaration of a parameter of a table function.

    Attributes:
        name: Its name, in lower case.
        kind: The type that validates its values.
        doc: One sentence of documentation.
        default: The value if it is not given; it is not validated.
        required: Whether a call must give it.
        example: How it is given, for the message when it is missing.
    """

    name: str
    kind: ParameterType
    doc: str
    default: object = None
    required: bool = False
    example: str = ""


def check_parameter_names(function: str, parameters: Iterable[Parameter], names: Iterable[str]) -> None:
    """Raise an error if a given name is not, letter by letter, the name of one of these parameters.

    Args:
        function: The called function, for the message.
        parameters: The parameters that it declares.
        names: The names in the call.

    Raises:
        UnknownParameterError: There is no such parameter.
    """
    declared = [p.name for p in parameters]
    for name in names:
        if name not in declared:
            raise errors.UnknownParameterError(function, name, declared)


def validate_parameters(
    function: str, parameters: tuple[Parameter, ...], values: Mapping[str, object]
) -> dict[str, object]:
    """Return the accepted value of each declared parameter by name; parameters that are not given have their defaults.

    Names are compared without case.

    Args:
        function: The table function, for messages.
        parameters: The parameters that it declares.
        values: The given values by name; None counts as not given.

    Raises:
        UnknownParameterError: A name is not that of a parameter.
        MissingArgumentError: A required parameter is not given.
        InvalidArgumentError: A value is invalid.
    """
    by_name = {p.name: p for p in parameters}
    for name in values:
        if name.lower() not in by_name:
            raise errors.UnknownParameterError(function, name, by_name)
    by_lower_name = {name.lower(): value for name, value in values.items()}
    accepted: dict[str, object] = {}
    for name, parameter in by_name.items():
        value = by_lower_name.get(name)
        if value is None:
            if parameter.required:
                raise errors.MissingArgumentError(function, name, str(parameter.kind), parameter.example)
            accepted[name] = parameter.default
            continue
        try:
            accepted[name] = parameter.kind.check(value)
        except ValueError as error:
            raise errors.InvalidArgumentError(
                function, name, str(error) or str(parameter.kind), format_value(value)
            ) from None
    return accepted


def format_value(value: object) -> str:
    """Return a value for a message: NULL, true, false, or its Python repr, shortened to 80 characters."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
