"""What readers may have released by asking for it, as `dbanon.permission` has it.

A permission names a source, algorithms, the least k and what else the calls have. A reader may ask for a greater k and
for stricter bounds of models, and for nothing else. This decides that, and shares no state: the process that answers
readers asks it, and again the one that has the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

from dbanon import errors
from dbanon.privacy_models import registry
from dbanon.source import catalog
from dbanon.sqltext.quote import qualified
from dbanon.table_functions.registry import table_functions

EVERYBODY = "*"
_PRIVATE = ""
"""The name under which a redacted permission keeps the number of its private parameters; no parameter is called so."""
_GREATEST = 2**63
COLUMNS = ("source", "algorithms", "k", "parameters", "reader", "most")


@dataclass(frozen=True)
class Permission:
    """One row of `dbanon.permission`; `parameters` are those of the calls, but for k."""

    source: str
    algorithms: tuple[str, ...]
    k: int
    parameters: Mapping[str, Any] = field(default_factory=dict)
    reader: str = EVERYBODY
    most: int = 10

    @property
    def said(self) -> str:
        """The permission as messages show it."""
        bounds = [f"{name} = {value}" for name, value in self.bounds.items()]
        with_ = f" with {', '.join(bounds)}" if bounds else ""
        return f"{' or '.join(self.algorithms)} of '{self.source}' from k = {self.k} on{with_}"

    @property
    def bounds(self) -> dict[str, Any]:
        """The bounds of privacy models, which readers see and may tighten.

        All other parameters are the custodian's: they can name withheld columns, missing codes, hierarchies or keys.
        """
        return _bounds(self.parameters)

    @property
    def public_row(self) -> tuple[str, list[str], int, str]:
        """The permission as `FROM permissions()` shows it: source, algorithms, k and bounds as JSON."""
        return self.source, list(self.algorithms), self.k, json.dumps(self.bounds, sort_keys=True)

    @property
    def row(self) -> tuple[Any, ...]:
        """The permission as a row of COLUMNS."""
        parameters = json.dumps(self.parameters, sort_keys=True)
        return self.source, list(self.algorithms), self.k, parameters, self.reader, self.most

    def of(self, reader: str, algorithm: str, source: str) -> bool:
        """Return whether it is about what a reader asks for. Sources are compared as they are written, in any case."""
        named = self.source.casefold() == source.casefold() and algorithm in self.algorithms
        return named and self.reader in (EVERYBODY, reader)


@dataclass(frozen=True)
class Asking:
    """A release that a reader asks for: the call as it would be made, with k among the parameters."""

    algorithm: str
    source: str
    parameters: str
    """As JSON, sorted: what is asked for twice is the same."""

    @classmethod
    def to(cls, algorithm: str, source: str, parameters: Mapping[str, Any]) -> Asking:
        """Return an asking for a call."""
        return cls(algorithm, source, json.dumps(parameters, sort_keys=True))

    @property
    def given(self) -> dict[str, Any]:
        """The parameters of the call."""
        return dict(json.loads(self.parameters))

    @property
    def said(self) -> str:
        """The call as messages show it, with what a reader may say."""
        shown = [f"{name}={value}" for name, value in self.given.items() if name == "k" or name in bounds_of_models()]
        return f"{self.algorithm}('{self.source}', {', '.join(shown)})"


@cache
def bounds_of_models() -> dict[str, bool]:
    """Return the parameters that ask for a privacy model, and whether more of each is stricter."""
    return {model.parameter: model.forms[0].is_higher for model in registry.models()}


def _bounds(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that are bounds of privacy models."""
    return {name: value for name, value in parameters.items() if name in bounds_of_models()}


def redacted(permissions: Sequence[Permission], askings: Sequence[Asking]) -> tuple[list[Permission], list[Asking]]:
    """Return permissions and askings with a number in place of their private parameters.

    The process that answers readers works with these. Equal private parameters have equal numbers, so that a
    reader's call finds the release of the same call.
    """
    everything = [permission.parameters for permission in permissions] + [asking.given for asking in askings]
    numbers = {private: n for n, private in enumerate(sorted(set(map(_private, everything))))}

    def with_number(parameters: Mapping[str, Any]) -> dict[str, Any]:
        private = _private(parameters)
        public = _bounds(parameters) | ({"k": parameters["k"]} if "k" in parameters else {})
        return public if private == "{}" else public | {_PRIVATE: numbers[private]}

    return (
        [replace(permission, parameters=with_number(permission.parameters)) for permission in permissions],
        [Asking.to(asking.algorithm, asking.source, with_number(asking.given)) for asking in askings],
    )


def _private(parameters: Mapping[str, Any]) -> str:
    """Return the parameters that readers do not see, as JSON."""
    private = {name: value for name, value in parameters.items() if name != "k" and name not in bounds_of_models()}
    return json.dumps(private, sort_keys=True)


def allowed(
    permissions: Iterable[Permission],
    reader: str,
    algorithm: str,
    source: str,
    given: Mapping[str, Any],
    whom: Sequence[str] = (),
) -> tuple[Permission, Asking]:
    """The call that a reader asks for, as the first permission has it that covers it; RequestNotPermittedError with
    `whom` to ask, InvalidArgumentError."""
    mine = [p for p in permissions if p.reader in (EVERYBODY, reader)]
    said = [p.said for p in mine]
    stricter = {"k": True, **bounds_of_models()}
    if algorithm not in algorithms():
        raise errors.RequestNotPermittedError(f"{algorithm!r:.60}", said, whom)
    for name in given:
        if name not in stricter:
            raise errors.RequestNotPermittedError(f"The parameter {name!r:.60} of {algorithm}", said, whom)
    accepted = {name: _number(algorithm, name, value) for name, value in given.items()}
    for permission in mine:
        fixed = {"k": permission.k, **permission.parameters}
        enough = all(_keeps(stricter[n], v, fixed.get(n)) for n, v in accepted.items())
        if permission.of(reader, algorithm, source) and enough:
            return permission, Asking.to(algorithm, permission.source, {**fixed, **accepted})
    shown = "".join(f", {name}={value:g}" for name, value in accepted.items())
    raise errors.RequestNotPermittedError(f"{algorithm}({source!r:.60}{shown})", said, whom)


def _number(algorithm: str, name: str, value: Any) -> int | float:
    """Return a value of a parameter that readers may say; InvalidArgumentError."""
    parameter = next(p for p in table_functions()[algorithm].parameters if p.name == name)
    known = not isinstance(value, bool) and isinstance(value, int | float) and abs(value) < _GREATEST
    if not known:
        raise errors.InvalidArgumentError(algorithm, name, str(parameter.kind), "what is no number")
    whole = int(value) if float(value).is_integer() else value
    try:
        parameter.kind.check(whole)
    except ValueError:
        raise errors.InvalidArgumentError(algorithm, name, str(parameter.kind), f"{value:g}") from None
    return whole


def _keeps(more_is_stricter: bool, value: float, bound: Any) -> bool:
    """Return whether a value is at least as strict as a bound, if there is one."""
    return bound is None or (value >= bound if more_is_stricter else value <= bound)


def listed(cursor: Any, database: str) -> tuple[list[Permission], list[tuple[str, str]]]:
    """Return the permissions of a database, and what is wrong with others.

    Their source, and why they permit nothing.
    """
    if not catalog.has_table(cursor, database, "permission"):
        return [], []
    rows = cursor.execute(
        f"SELECT {', '.join(COLUMNS)} FROM {qualified(database, catalog.SCHEMA, 'permission')} "
        "ORDER BY ALL ASC NULLS LAST"
    ).fetchall()
    permissions, problems = [], []
    for row in rows:
        try:
            permissions.append(permission(row))
        except ValueError as error:
            problems.append((str(row[0]), str(error)))
    return permissions, problems


def permission(row: Sequence[Any]) -> Permission:
    """Return a row of COLUMNS; ValueError where it permits nothing."""
    source, functions, k, parameters, reader, most = row
    named = tuple(str(name).lower() for name in functions if name is not None)
    for name in named:
        if name not in algorithms():
            raise ValueError(f"there is no algorithm '{name}'.{errors.near(name, algorithms())}")
    try:
        given = json.loads(parameters)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise ValueError('parameters must be a JSON object, such as {"l": 2}')
    given = {name.lower(): value for name, value in given.items()}
    if "k" in given:
        raise ValueError("k is a column of its own and no parameter")
    for name, value in given.items():
        if name in bounds_of_models() and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{name} must be a number")
    return Permission(str(source), named, int(k), given, str(reader), int(most))


@cache
def algorithms() -> frozenset[str]:
    """Return the algorithms of tables, which are functions of these names."""
    return frozenset(f.algorithm for f in table_functions().values() if f.algorithm)
