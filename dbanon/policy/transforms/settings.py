"""What the policy's `form` says of a column that is published as something made of it."""

from collections.abc import Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.transforms import formats
from dbanon.runtime import secret_keys

MOST_DAYS = 36_500


@dataclass(frozen=True)
class Pseudonym:
    """A pseudonym: its form, where the key is, and the scope that several releases share (None: each has its own)."""

    form: formats.Form
    key: str
    scope: str | None


@dataclass(frozen=True)
class Mask:
    """A text of which the first and the last characters are kept, and the others are `character`."""

    first: int
    last: int
    character: str


@dataclass(frozen=True)
class Shift:
    """Dates that are shifted by up to `days` either way, all dates of a person by the same."""

    days: int
    key: str
    scope: str | None


Made = Pseudonym | Mask | Shift

KNOWN = {
    "pseudonym": ("format", "length", "prefix", "key", "scope", "person"),
    "mask": ("first", "last", "character"),
    "shift": ("days", "key", "scope"),
}
"""The roles of columns that are published as something made of them, with the settings of each."""


def made(column: str, role: str, given: Mapping[str, str]) -> Made:
    """What is made of a column (its name as messages show it) in one of these roles.

    InvalidTransformSettingError where a setting is unknown or does not fit; UnreadableKeyReferenceError.
    """
    for name in given:
        if name not in KNOWN[role]:
            raise errors.InvalidTransformSettingError(
                column, f"form of the role {role}", f"of {', '.join(KNOWN[role])}", name
            )
    if role == "mask":
        first, last = (_whole(column, name, given.get(name, "0"), 0, 1000) for name in ("first", "last"))
        character = given.get("character", "*")
        if len(character) != 1 or not character.isprintable():
            raise errors.InvalidTransformSettingError(column, "character", "one printable character", character[:40])
        return Mask(first, last, character)
    reference = given.get("key", secret_keys.DEFAULT_REFERENCE)
    secret_keys.parse_reference(reference)
    scope = given.get("scope")
    if scope is not None and not 0 < len(scope) <= 200:
        raise errors.InvalidTransformSettingError(column, "scope", "a name of 1 to 200 characters", scope[:40])
    if role == "pseudonym":
        of = formats.form(column, given.get("format"), given.get("length"), given.get("prefix"))
        if given.get("person", "true").lower() != "true":
            raise errors.InvalidTransformSettingError(column, "person", "true, or left out", given["person"][:40])
        return Pseudonym(of, reference, scope)
    if "days" not in given:
        raise errors.InvalidTransformSettingError(
            column, "days", f"an integer from 1 to {MOST_DAYS} (form = {{'days': 30}})", None
        )
    return Shift(_whole(column, "days", given["days"], 1, MOST_DAYS), reference, scope)


def _whole(column: str, name: str, given: str, low: int, high: int) -> int:
    found = formats.whole(given)
    if found is None or not low <= found <= high:
        raise errors.InvalidTransformSettingError(column, name, f"an integer from {low} to {high}", given)
    return found
