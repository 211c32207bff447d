"""Permissions of readers to request releases, as stored in `dbanon.permission`.

A permission names a source, algorithms, the minimal k and the other parameters. A reader may request a greater k and
stricter bounds of models, and nothing else. The functions here have no shared state: the process that answers readers
uses them, and the one that has the database uses them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from dbanon import errors
from dbanon.errors import renamed_names
from dbanon.privacy_models import registry
from dbanon.source import catalog, earlier_schema
from dbanon.sqltext.quote import qualified
from dbanon.table_functions.registry import table_functions

ANY_READER = "*"
_PRIVATE = ""
"""The name under which a redacted permission has the number of its private parameters; no parameter has this name."""
_NUMBER_LIMIT = 2**63
_EARLIER_COLUMNS = {name: earlier for earlier, name in earlier_schema.RENAMED_COLUMNS["permission"].items()}

COLUMNS = ("source", "algorithms", "k", "parameters", "reader", "max_requests")


@dataclass(frozen=True)
class Permission:
    """One row of `dbanon.permission`: the releases of a source that a reader, or any reader, may request.

    Args:
        source: The table or view as calls name it.
        algorithms: The algorithms that may be requested.
        k: The smallest k that may be requested.
        parameters: The parameters of the calls, except k. A reader may make bounds of privacy models (such as l)
            stricter.
        reader: The reader's name; `*` permits any reader.
        max_requests: Maximum number of different requests about the source, by all readers; further ones are refused.
    """

    source: str
    algorithms: tuple[str, ...]
    k: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reader: str = ANY_READER
    max_requests: int = 10

    @property
    def description(self) -> str:
        """The permission as text for messages: algorithms, source, minimal k and bounds of the other privacy models."""
        bounds = [f"k >= {self.k}", *(f"{name} = {value}" for name, value in self.bounds.items())]
        return f"{' or '.join(self.algorithms)} of '{self.source}' with {', '.join(bounds)}"

    @property
    def bounds(self) -> dict[str, Any]:
        """The parameters, other than k, that bound privacy models (such as l or t), with their values.

        Readers see them and may request stricter values. All other parameters are private to the custodian: they can
        name withheld columns, missing codes, hierarchies or keys.
        """
        return _bounds(self.parameters)

    @property
    def public_row(self) -> tuple[str, list[str], int, str]:
        """The permission as permissions() shows it: source, algorithms, k, and the other models' bounds as JSON."""
        return self.source, list(self.algorithms), self.k, json.dumps(self.bounds, sort_keys=True)

    @property
    def row(self) -> tuple[Any, ...]:
        """The permission as a tuple in the order of COLUMNS; the parameters are sorted JSON."""
        return (
            self.source,
            list(self.algorithms),
            self.k,
            json.dumps(self.parameters, sort_keys=True),
            self.reader,
            self.max_requests,
        )

    def covers(self, reader: str, algorithm: str, source: str) -> bool:
        """Return whether the permission is for this reader (or any), this algorithm and this source.

        The source is compared as written, without regard to case. Parameters are not considered.
        """
        return (
            self.source.casefold() == source.casefold()
            and algorithm in self.algorithms
            and self.reader in (ANY_READER, reader)
        )


@dataclass(frozen=True)
class ReleaseRequest:
    """A release that a reader requests.

    Attributes:
        algorithm: The algorithm of the call.
        source: Its source.
        parameters: Its parameters, k among them, as sorted JSON, so that equal requests have equal texts.
    """

    algorithm: str
    source: str
    parameters: str

    @classmethod
    def from_call(cls, algorithm: str, source: str, parameters: Mapping[str, Any]) -> ReleaseRequest:
        """Return the request for a call; `parameters` include k and are stored as sorted JSON."""
        return cls(algorithm, source, json.dumps(parameters, sort_keys=True))

    @property
    def call_parameters(self) -> dict[str, Any]:
        """The parameters of the call as a new dictionary, with k."""
        return dict(json.loads(self.parameters))

    @property
    def description(self) -> str:
        """The call as text for messages, with only k and the bounds of the other privacy models as parameters."""
        visible = [
            f"{name}={value}"
            for name, value in self.call_parameters.items()
            if name == "k" or name in sensitive_model_bounds()
        ]
        return f"{self.algorithm}('{self.source}', {', '.join(visible)})"


def requests_of_source(requests: Iterable[ReleaseRequest], source: str) -> list[ReleaseRequest]:
    """Return those of the requests that are about a source, compared as written, without regard to case.

    `max_requests` of a permission is the maximum number of these.
    """
    return [request for request in requests if request.source.casefold() == source.casefold()]


@cache
def sensitive_model_bounds() -> dict[str, bool]:
    """Return the parameters that bound models of sensitive columns, and whether a higher value of each is stricter.

    They are those of the registered `PrivacyModel`s, such as l (True) and t (False); k is not one of them.
    """
    return {model.parameter: model.forms[0].is_higher for model in registry.models()}


def _bounds(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return those of the parameters (values by name) that bound privacy models other than k, such as l or t."""
    return {name: value for name, value in parameters.items() if name in sensitive_model_bounds()}


def redact_private(
    permissions: Sequence[Permission], requests: Sequence[ReleaseRequest]
) -> tuple[list[Permission], list[ReleaseRequest]]:
    """Return copies of permissions and requests whose private parameters are replaced by one number each.

    Private are all parameters except k and the bounds of the other privacy models. In each permission or request with
    private parameters, they are removed together, and a number is added under the empty name. It is the rank of this
    set of parameters among all that occur: equal sets have equal numbers, so that a reader's call matches the release
    of an earlier, equal call. The process that answers readers uses these copies.
    """
    all_parameters = [permission.parameters for permission in permissions] + [
        request.call_parameters for request in requests
    ]
    numbers = {private: n for n, private in enumerate(sorted(set(map(_private_parameters, all_parameters))))}

    def with_number(parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Return k and the model bounds; if there are private parameters, also their number under the empty name."""
        private = _private_parameters(parameters)
        public = _bounds(parameters) | ({"k": parameters["k"]} if "k" in parameters else {})
        return public if private == "{}" else public | {_PRIVATE: numbers[private]}

    return (
        [replace(permission, parameters=with_number(permission.parameters)) for permission in permissions],
        [
            ReleaseRequest.from_call(request.algorithm, request.source, with_number(request.call_parameters))
            for request in requests
        ],
    )


def _private_parameters(parameters: Mapping[str, Any]) -> str:
    """Return the parameters except k and the bounds of other models as sorted JSON; "{}" if there are none."""
    private = {
        name: value for name, value in parameters.items() if name != "k" and name not in sensitive_model_bounds()
    }
    return json.dumps(private, sort_keys=True)


def find_permission(
    permissions: Iterable[Permission],
    reader: str,
    algorithm: str,
    source: str,
    parameters: Mapping[str, Any],
    contacts: Sequence[str] = (),
) -> tuple[Permission, ReleaseRequest]:
    """Return the first permission that covers a reader's call, and the request for that call.

    A permission covers a call if it is for the reader, algorithm and source and each given parameter is at least as
    strict as that of the permission. Parameters that the reader does not give are those of the permission.

    Args:
        permissions: All permissions.
        reader: The reader's name.
        algorithm: The algorithm of the call.
        source: The source of the call.
        parameters: The parameters that the reader gives, as numbers: only k and bounds of other privacy models.
        contacts: Whom to ask for a permission; the error message names them.

    Raises:
        RequestNotPermittedError: No permission covers the call, or the algorithm or a parameter cannot be requested.
        InvalidArgumentError: A parameter has an invalid value.
    """
    reader_permissions = [p for p in permissions if p.reader in (ANY_READER, reader)]
    descriptions = [p.description for p in reader_permissions]
    higher_is_stricter = {"k": True, **sensitive_model_bounds()}
    if algorithm not in algorithms():
        raise errors.RequestNotPermittedError(f"{algorithm!r:.60}", descriptions, contacts)
    for name in parameters:
        if name not in higher_is_stricter:
            raise errors.RequestNotPermittedError(f"The parameter {name!r:.60} of {algorithm}", descriptions, contacts)
    accepted = {name: _parse_number(algorithm, name, value) for name, value in parameters.items()}
    for permission in reader_permissions:
        fixed = {"k": permission.k, **permission.parameters}
        is_covered = all(_is_as_strict(higher_is_stricter[n], v, fixed.get(n)) for n, v in accepted.items())
        if permission.covers(reader, algorithm, source) and is_covered:
            return permission, ReleaseRequest.from_call(algorithm, permission.source, {**fixed, **accepted})
    parameter_text = "".join(f", {name}={value:g}" for name, value in accepted.items())
    raise errors.RequestNotPermittedError(f"{algorithm}({source!r:.60}{parameter_text})", descriptions, contacts)


def _parse_number(algorithm: str, name: str, value: Any) -> int | float:
    """Return a parameter value of a reader as a number, as an integer if it has no fraction.

    `algorithm` and `name` are the algorithm and the parameter, which must exist.

    Raises:
        InvalidArgumentError: The value is no number (also a boolean), its absolute value is 2**63 or more, or it is
            invalid for the parameter.
    """
    parameter = next(p for p in table_functions()[algorithm].parameters if p.name == name)
    is_number = not isinstance(value, bool) and isinstance(value, int | float) and abs(value) < _NUMBER_LIMIT
    if not is_number:
        raise errors.InvalidArgumentError(algorithm, name, str(parameter.kind), "a value that is not a number")
    number = int(value) if float(value).is_integer() else value
    try:
        parameter.kind.check(number)
    except ValueError:
        raise errors.InvalidArgumentError(algorithm, name, str(parameter.kind), f"{value:g}") from None
    return number


def _is_as_strict(higher_is_stricter: bool, value: float, bound: Any) -> bool:
    """Return whether a value is at least as strict as a bound: at least as high if `higher_is_stricter`, else as low.

    True if the bound is None.
    """
    return bound is None or (value >= bound if higher_is_stricter else value <= bound)


def stored_permissions(cursor: Any, database: str) -> tuple[list[Permission], list[tuple[str, str]]]:
    """Return the permissions stored in a database, and (source, problem) for each row that is invalid.

    Both are empty if the database has no table `dbanon.permission`.
    """
    if not catalog.has_table(cursor, database, "permission"):
        return [], []
    columns = ", ".join(f"COLUMNS('^({c}|{_EARLIER_COLUMNS.get(c, c)})$') AS {c}" for c in COLUMNS)
    rows = cursor.execute(
        f"SELECT {columns} FROM {qualified(database, catalog.SCHEMA, 'permission')} ORDER BY ALL ASC NULLS LAST"
    ).fetchall()
    permissions, problems = [], []
    for row in rows:
        try:
            permissions.append(parse_permission(row))
        except ValueError as error:
            problems.append((str(row[0]), str(error)))
    return permissions, problems


def parse_permission(row: Sequence[Any]) -> Permission:
    """Return the permission in a row with the columns COLUMNS; renamed parameters get today's names.

    Raises:
        ValueError: The row is invalid: an unknown algorithm, parameters that are no JSON object, k among them, or a
            bound of a privacy model that is no number.
    """
    source, functions, k, parameters, reader, max_requests = row
    algorithm_names = tuple(str(name).lower() for name in functions if name is not None)
    for name in algorithm_names:
        if name not in algorithms():
            raise ValueError(f"there is no algorithm '{name}'.{errors.did_you_mean(name, algorithms())}")
    try:
        values = json.loads(parameters)
    except ValueError:
        values = None
    if not isinstance(values, dict):
        raise ValueError('parameters must be a JSON object, such as {"l": 2}')
    current_names = {p.name for name in algorithm_names for p in table_functions()[name].parameters}
    values = {renamed_names.translate_parameter(n.lower(), current_names): value for n, value in values.items()}
    if "k" in values:
        raise ValueError("k is a separate column, not a parameter")
    for name, value in values.items():
        if name in sensitive_model_bounds() and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{name} must be a number")
    return Permission(str(source), algorithm_names, int(k), values, str(reader), int(max_requests))


@cache
def algorithms() -> frozenset[str]:
    """Return the names of the algorithms that are table functions; cached."""
    return frozenset(f.algorithm for f in table_functions().values() if f.algorithm)
