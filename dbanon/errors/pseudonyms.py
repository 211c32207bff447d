"""Errors about keys, pseudonyms, masks and shifted dates. No message reveals more of a key than its location."""

from collections.abc import Collection, Iterable, Sequence

from dbanon.errors.base import DbanonError, RefusedError, UsageError, format_names
from dbanon.errors.example import Situation

_MAKE_KEY_HINT = "make one with `openssl rand -hex 32`"


class PseudonymKeyMissingError(DbanonError):
    """A pseudonym key that is not where the policy says."""

    message_pattern = "the key of pseudonyms was looked for in"
    example = Situation(
        "It comes where a pseudonym is published and its key is not where the policy says.",
        ("the environment variable DBANON_KEY", "is not set"),
    )

    def __init__(self, location: str, why: str) -> None:
        """Build the message.

        Args:
            location: Where the key was looked for, such as "the environment variable DBANON_KEY".
            why: The rest of the relative clause about it, such as "is not set".
        """
        super().__init__(
            f"the key of pseudonyms was looked for in {location}, which {why}. Hint: {_MAKE_KEY_HINT} and put it "
            "there, or say "
            "where it is in dbanon.policy, settings = {'key': 'env:NAME'} or {'key': 'file:/path'}; with another key "
            "everybody has another pseudonym."
        )


class WeakPseudonymKeyError(RefusedError):
    """A pseudonym key that could be guessed."""

    message_pattern = "cannot be the key of pseudonyms"
    example = Situation(
        "It comes where the key of pseudonyms is too short or was made up by somebody.",
        ("the file /etc/clinic/key", "it has 16 bytes"),
    )

    def __init__(self, location: str, why: str) -> None:
        """Build the message.

        Args:
            location: Where the key is, such as "the file /keys/a".
            why: The reason, such as "it has 8 bytes".
        """
        super().__init__(
            f"what is in {location} cannot be the key of pseudonyms: {why}. Accepted: 32 random bytes or more, in "
            f"hexadecimal digits or Base64. Whoever guesses the key has every identifier back. Hint: {_MAKE_KEY_HINT}."
        )


class UnreadableKeyReferenceError(DbanonError):
    """A key reference that names neither an environment variable nor a file."""

    message = (
        "{setting} must be 'env:NAME' (an environment variable) or 'file:/absolute/path', and is neither. "
        "Hint: the key itself stands in neither a statement nor dbanon.policy."
    )
    example = Situation("It comes where the policy or a call gives something other than where the key is.", ("key",))


class AmbiguousDataSubjectError(RefusedError):
    """Several pseudonym columns, without a declaration which one identifies the data subject."""

    message_pattern = "have the role pseudonym, and"
    example = Situation(
        "It comes where columns of a table have the role pseudonym, none is the person, and none says it is.",
        ("kacpc", "visits", ["patient", "visit"]),
    )

    def __init__(self, function: str, table: str, columns: Sequence[str], is_several: bool = False) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            table: The source.
            columns: The pseudonym columns.
            is_several: Whether several of them are declared to identify the data subject, rather than none.
        """
        super().__init__(
            f"{function}: {format_names(columns)} of {table} have the role pseudonym, and "
            f"{'several say that they are' if is_several else 'nothing says which of them is'} the data subject, whose "
            f"rows k and the models count as one person's. Hint: say it of one of them in dbanon.policy, "
            f"settings = {{'person': 'true'}} of {columns[0]}, or give a column the role person."
        )


class PseudonymFormatMismatchError(DbanonError):
    """Two pseudonym columns that share key and scope and have different formats."""

    message_pattern = "share a key and a scope, and not"
    message = (
        "{function}: the pseudonyms {columns:names} of {table} share a key and a scope, and not format, length and "
        "prefix. Equal values have one pseudonym there, which must be written alike. Hint: give them one form in "
        "dbanon.policy, or leave the scope of one out, so that equal values differ."
    )
    example = Situation(
        "It comes where two columns name one scope, so that equal values have one pseudonym, and differ in form.",
        ("kacpc", ["patient", "mother"], "visits"),
    )


class CannotTransformColumnError(DbanonError):
    """A column that cannot be published as a pseudonym, mask or shifted date."""

    message = "{function}: {column} cannot have the role {role}: {why}. Accepted: {accepted}."
    example = Situation(
        "It comes where a column has a type that cannot be made so, or dates have no person to be shifted by.",
        ("kacpc", "visits.notes", "pseudonym", "it has the type VARCHAR[]", "numbers, text or UUIDs"),
    )


class TransformedColumnsNotSupportedError(DbanonError):
    """A column with the role pseudonym, mask or shift in a release that does not support them."""

    example = Situation(
        "It comes where a stream, a release with noise or Spark would have to publish such a column.",
        ("castle", "visits", ["patient"], "a stream"),
    )

    def __init__(
        self, function: str, table: str, columns: Collection[str], output: str, hint: str | None = None
    ) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            table: The source.
            columns: The columns with the role pseudonym, mask or shift.
            output: What does not support them, such as "a stream".
            hint: The hint; by default to withhold the columns.
        """
        hint = hint or f"leave them out, withhold = [{', '.join(repr(c) for c in columns)}]"
        super().__init__(
            f"{function}: {format_names(columns)} of {table} have the role pseudonym, mask or shift, which {output} "
            f"does not publish. Hint: {hint}."
        )


class DateShiftOutOfRangeError(DbanonError):
    """A date that cannot be shifted because it is at the end of its type's range."""

    message_pattern = "at the end of its type"
    message = (
        "{function}: {column} has a {type_} at the end of its type, less than {days} days from it, which cannot "
        "be shifted. Hint: name such a code in `missing_codes`, or withhold the column."
    )
    example = Situation(
        "It comes where a date is so close to the end of its type that it cannot be shifted.",
        ("kacpc", "visits.day", "DATE", 30),
    )


class PseudonymCollisionError(RefusedError):
    """A pseudonym length at which two values would have the same pseudonym."""

    message_pattern = "would have a pseudonym that another"
    message = (
        "{function}: {count} values of {column} would have a pseudonym that another value has too, at length = "
        "{length}: two persons would become one. The least length that holds is {least} (0: none of this format "
        "does). Hint: set it in dbanon.policy, settings = {{'length': ...}}; longer is better, for those who come "
        "later."
    )
    example = Situation(
        "It comes where pseudonyms are so short that two values would share one.",
        ("kacpc", 363, "visits.patient", 4, 7),
    )


def _linkage_text(columns: Sequence[str]) -> str:
    """Return words for a message that state which rows the pseudonym columns link."""
    if len(columns) == 1:
        return f"the pseudonym {columns[0]} shows which rows are of one person"
    return f"the pseudonyms {', '.join(columns)} show which rows belong together"


def _withhold_hint(columns: Sequence[str]) -> str:
    """Return a hint for a message to withhold a pseudonym column; its example is the last of `columns`."""
    return f"withhold {'the pseudonym' if len(columns) == 1 else 'one of them'}, withhold = ['{columns[-1]}']"


class LinkedRowsBelowKError(RefusedError):
    """Persons whose rows, linked by their pseudonym, single them out."""

    message_pattern = "alone by their linked rows"
    example = Situation(
        "It comes where a pseudonym links the rows of persons, and too few persons have rows in the same classes.",
        ("kacpc", "visits", ["patient"], 3, 10),
    )

    def __init__(self, function: str, table: str, columns: Sequence[str], count: object, k: int) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            table: The source.
            columns: The pseudonym columns.
            count: The number of persons who share the classes of their rows with fewer than k persons.
            k: The parameter k of the call.
        """
        super().__init__(
            f"{function}: {count} persons of {table} are alone by their linked rows: {_linkage_text(columns)}, and "
            f"fewer than k = {k} persons have rows in the same classes, as often. Hint: {_withhold_hint(columns)}, "
            "generalize more "
            "(min_level, grid, fewer columns in qi), try an algorithm that leaves equal records together (mondrian, "
            "datafly), or publish one row per person."
        )


class LinkedRowsMissModelError(RefusedError):
    """Linked rows of persons that together do not meet a privacy model."""

    message_pattern = "do not meet .* by the linked rows of their persons"
    example = Situation(
        "It comes where a class meets a model, and the persons of it whose rows are in the same classes do not.",
        ("kacpc", "visits", ["patient"], "l", "disease", 2),
    )

    def __init__(
        self, function: str, table: str, columns: Sequence[str], parameter: str, sensitive: str, count: object
    ) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            table: The source.
            columns: The pseudonym columns.
            parameter: The parameter of the privacy model, such as "l".
            sensitive: The sensitive column.
            count: The number of groups of persons that do not meet it.
        """
        super().__init__(
            f"{function}: {count} groups of persons of {table} do not meet {parameter} of {sensitive} by the linked "
            f"rows of their persons: {_linkage_text(columns)}. Hint: {_withhold_hint(columns)}, or generalize more."
        )


class LinkedRowsRareValuesError(RefusedError):
    """Unchanged values that single persons out when their rows are linked."""

    message_pattern = "values that their linked rows have together"
    example = Situation(
        "It comes where each value is common, and those that the linked rows of a person have together are not.",
        ("kacpc", "visits", ["patient"], ["ward"], 3, 10),
    )

    def __init__(
        self, function: str, table: str, columns: Sequence[str], unchanged_columns: Iterable[str], count: object, k: int
    ) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            table: The source.
            columns: The pseudonym columns.
            unchanged_columns: The columns that are published unchanged.
            count: The number of persons whose linked rows have values that fewer than k persons have together.
            k: The parameter k of the call.
        """
        unchanged_columns = list(unchanged_columns) or [""]
        super().__init__(
            f"{function}: {count} persons of {table} have values that their linked rows have together with fewer than "
            f"k = {k} persons, in {format_names(unchanged_columns)}; {_linkage_text(columns)}. "
            f"Hint: {_withhold_hint(columns)}, "
            "or these columns, or "
            f"accept what a column adds with allow_rare = ['{unchanged_columns[-1]}']."
        )


class InvalidTransformSettingError(UsageError):
    """An invalid setting of a pseudonym, mask or shift."""

    message_pattern = r": [\w ]+ must be .+, got "
    message = "{column}: {setting} must be {accepted}, got {given!r}."
    example = Situation(
        "It comes where a setting of a pseudonym, mask or shift is none.",
        ("visits.patient", "length", "an integer from 4 to 64 for the format hex", 2),
    )
