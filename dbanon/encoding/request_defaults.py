"""The default settings of a clustering request, which a printed statement omits."""

from collections.abc import Mapping
from typing import Any

ATTRIBUTE_DEFAULTS: dict[str, object] = {
    "kind": "tree",
    "integral": False,
    "bare": False,
    "weight": 1.0,
    "max_level": None,
    "round": 1,
}
"""The settings of an attribute that a statement does not print if they have these values."""

REQUEST_DEFAULTS: dict[str, object] = {
    "person": False,
    "options": {},
    "models": [],
    "joint": False,
    "suppress": 0.0,
    "cell": None,
    "improve": None,
    "objective": "precision",
    "leaves": "all",
    "heights": "top",
    "sensitive": [],
    "forest": None,
    "noise": None,
}
"""The settings of a request that a statement does not print if they have these values."""


def without_defaults(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request without the settings that have their default values."""
    return _differing(request, REQUEST_DEFAULTS) | {
        "attributes": [_differing(attribute, ATTRIBUTE_DEFAULTS) for attribute in request["attributes"]]
    }


def complete_request(request: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request of `without_defaults` with its default values."""
    attributes = [ATTRIBUTE_DEFAULTS | attribute for attribute in request.get("attributes", ())]
    return REQUEST_DEFAULTS | dict(request) | {"attributes": attributes}


def _differing(settings: Mapping[str, object], defaults: Mapping[str, object]) -> dict[str, object]:
    """Return the settings whose values are not the defaults."""
    return {name: value for name, value in settings.items() if name not in defaults or value != defaults[name]}
