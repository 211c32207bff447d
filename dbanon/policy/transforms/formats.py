"""The form of pseudonyms: format, length and prefix, and what each format can hold."""

from __future__ import annotations

from dataclasses import dataclass

from dbanon import errors


@dataclass(frozen=True)
class Format:
    """One format: the fewest and most characters, how many there are unless somebody says so, and bits a character."""

    least: int
    most: int
    usual: int
    what: str


FORMATS = {
    "hex": Format(4, 64, 32, "hexadecimal digits in lower case"),
    "base32": Format(4, 51, 26, "capital letters and the digits 2 to 7 (RFC 4648)"),
    "digits": Format(4, 60, 30, "decimal digits"),
    "uuid": Format(36, 36, 36, "a UUID of version 8 (RFC 9562)"),
}

_MOST_PREFIX = 32


@dataclass(frozen=True)
class Form:
    """The form of the pseudonyms of one column; `length` counts the characters after the prefix."""

    format: str = "hex"
    length: int = FORMATS["hex"].usual
    prefix: str = ""

    @property
    def longest(self) -> Form:
        """The same with as many characters as there are: every shorter pseudonym is the beginning of one of these."""
        return Form(self.format, FORMATS[self.format].most, self.prefix)


def form(column: str, format: str | None = None, length: object = None, prefix: str | None = None) -> Form:
    """The form that is asked for, what is not said as usual.

    InvalidTransformSettingError names the `column` where it does not fit.
    """
    name = (format or "hex").lower()
    if name not in FORMATS:
        raise errors.InvalidTransformSettingError(column, "format", f"one of {', '.join(FORMATS)}", format)
    of = FORMATS[name]
    count = of.usual if length is None else whole(length)
    if count is None or not of.least <= count <= of.most:
        accepted = "36 (a UUID has one length)" if name == "uuid" else f"an integer from {of.least} to {of.most}"
        raise errors.InvalidTransformSettingError(column, "length", f"{accepted} for the format {name}", length)
    if prefix is not None and (len(prefix) > _MOST_PREFIX or not prefix.isprintable()):
        raise errors.InvalidTransformSettingError(
            column, "prefix", f"at most {_MOST_PREFIX} printable characters", prefix[:40]
        )
    return Form(name, count, prefix or "")


def whole(given: object) -> int | None:
    """Return an integer that is given as a number or a text; None where it is none."""
    try:
        return int(str(given))
    except ValueError:
        return None
