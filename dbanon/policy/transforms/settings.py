"""Settings of transformed columns: pseudonyms, masks and shifted dates (column `settings` of the policy)."""

from collections.abc import Mapping
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.transforms import formats
from dbanon.runtime import secret_keys

MAX_SHIFT_DAYS = 36_500


@dataclass(frozen=True)
class Pseudonym:
    """The settings of a pseudonymized column: format, reference of the key (such as env:NAME), and scope.

    Equal values have equal pseudonyms in all releases with one key and scope. If `scope` is None, each release has its
    own.
    """

    format: formats.PseudonymFormat
    key: str
    scope: str | None


@dataclass(frozen=True)
class Mask:
    """The settings of a masked text: the first and last characters are kept, the others replaced by `character`.

    `first` and `last` are numbers of characters.
    """

    first: int
    last: int
    character: str


@dataclass(frozen=True)
class Shift:
    """The settings of shifted dates: up to `days` in both directions, all dates of a person by an equal number of days.

    `key` is the reference of the key (such as env:NAME). Releases with one key and scope shift equally. If `scope` is
    None, each release has its own.
    """

    days: int
    key: str
    scope: str | None


Transform = Pseudonym | Mask | Shift

TRANSFORM_SETTINGS = {
    "pseudonym": ("format", "length", "prefix", "key", "scope", "person"),
    "mask": ("first", "last", "character"),
    "shift": ("days", "key", "scope"),
}
"""The roles of transformed columns, with the settings of each."""


def parse_transform(column: str, role: str, settings: Mapping[str, str]) -> Transform:
    """Return the settings of a pseudonymized, masked or shifted column as an object, after checking them.

    Args:
        column: The column's name in messages.
        role: pseudonym, mask or shift.
        settings: The column's settings as the policy stores them; those that are missing get default values, except the
            days of a shift.

    Raises:
        InvalidTransformSettingError: A setting is unknown, missing or not valid.
        UnreadableKeyReferenceError: The reference of the key is not valid.
    """
    for name in settings:
        if name not in TRANSFORM_SETTINGS[role]:
            raise errors.InvalidTransformSettingError(
                column, f"settings of the role {role}", f"of {', '.join(TRANSFORM_SETTINGS[role])}", name
            )
    if role == "mask":
        first, last = (_integer_setting(column, name, settings.get(name, "0"), 0, 1000) for name in ("first", "last"))
        character = settings.get("character", "*")
        if len(character) != 1 or not character.isprintable():
            raise errors.InvalidTransformSettingError(column, "character", "one printable character", character[:40])
        return Mask(first, last, character)
    reference = settings.get("key", secret_keys.DEFAULT_REFERENCE)
    secret_keys.parse_reference(reference)
    scope = settings.get("scope")
    if scope is not None and not 0 < len(scope) <= 200:
        raise errors.InvalidTransformSettingError(column, "scope", "a name of 1 to 200 characters", scope[:40])
    if role == "pseudonym":
        pseudonym_format = formats.parse_format(
            column, settings.get("format"), settings.get("length"), settings.get("prefix")
        )
        if settings.get("person", "true").lower() != "true":
            raise errors.InvalidTransformSettingError(column, "person", "true, or omitted", settings["person"][:40])
        return Pseudonym(pseudonym_format, reference, scope)
    if "days" not in settings:
        raise errors.InvalidTransformSettingError(
            column, "days", f"an integer from 1 to {MAX_SHIFT_DAYS} (settings = {{'days': 30}})", None
        )
    return Shift(_integer_setting(column, "days", settings["days"], 1, MAX_SHIFT_DAYS), reference, scope)


def _integer_setting(column: str, name: str, value: str, low: int, high: int) -> int:
    """Return a setting as an integer from low to high.

    Raises:
        InvalidTransformSettingError: `value` is not such an integer.
    """
    number = formats.parse_integer(value)
    if number is None or not low <= number <= high:
        raise errors.InvalidTransformSettingError(column, name, f"an integer from {low} to {high}", value)
    return number
