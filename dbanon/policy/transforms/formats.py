"""Formats of pseudonyms: encoding, length and prefix, and the limits of each encoding."""

from __future__ import annotations

from dataclasses import dataclass

from dbanon import errors


@dataclass(frozen=True)
class TextEncoding:
    """An encoding of pseudonyms as text, with its minimum, maximum and default number of characters."""

    min_length: int
    max_length: int
    default_length: int


ENCODINGS = {
    "hex": TextEncoding(4, 64, 32),  # hexadecimal digits in lower case
    "base32": TextEncoding(4, 51, 26),  # capital letters and the digits 2 to 7 (RFC 4648)
    "digits": TextEncoding(4, 60, 30),  # decimal digits
    "uuid": TextEncoding(36, 36, 36),  # a UUID of version 8 (RFC 9562)
}

_MAX_PREFIX_LENGTH = 32


@dataclass(frozen=True)
class PseudonymFormat:
    """The format of the pseudonyms of one column; `length` is the number of characters after the prefix."""

    encoding: str = "hex"
    length: int = ENCODINGS["hex"].default_length
    prefix: str = ""

    @property
    def longest(self) -> PseudonymFormat:
        """This format of pseudonyms with the maximum length of its encoding.

        The pseudonym of a value in a shorter length is a prefix of the one in this length.
        """
        return PseudonymFormat(self.encoding, ENCODINGS[self.encoding].max_length, self.prefix)


def parse_format(
    column: str, format: str | None = None, length: object = None, prefix: str | None = None
) -> PseudonymFormat:
    """Return the requested format of pseudonyms, with defaults for None.

    Args:
        column: The column's name in messages.
        format: The encoding: hex (default), base32, digits or uuid, in any case.
        length: Number of characters after the prefix, as a number or a text.
        prefix: A text before each pseudonym; none by default.

    Raises:
        InvalidTransformSettingError: A setting is not valid, such as a length that the encoding does not have.
    """
    name = (format or "hex").lower()
    if name not in ENCODINGS:
        raise errors.InvalidTransformSettingError(column, "format", f"one of {', '.join(ENCODINGS)}", format)
    encoding = ENCODINGS[name]
    count = encoding.default_length if length is None else parse_integer(length)
    if count is None or not encoding.min_length <= count <= encoding.max_length:
        accepted = (
            "36 (a UUID has one length)"
            if name == "uuid"
            else f"an integer from {encoding.min_length} to {encoding.max_length}"
        )
        raise errors.InvalidTransformSettingError(column, "length", f"{accepted} for the format {name}", length)
    if prefix is not None and (len(prefix) > _MAX_PREFIX_LENGTH or not prefix.isprintable()):
        raise errors.InvalidTransformSettingError(
            column, "prefix", f"at most {_MAX_PREFIX_LENGTH} printable characters", prefix[:40]
        )
    return PseudonymFormat(name, count, prefix or "")


def parse_integer(value: object) -> int | None:
    """Return the integer that a number or a text is written as; None if it is not written as an integer."""
    try:
        return int(str(value))
    except ValueError:
        return None
