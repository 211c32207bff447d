"""Errors about keys, pseudonyms, masks and shifted dates. No message reveals more of a key than its location."""

from collections.abc import Collection, Iterable, Sequence

from dbanon.errors.base import DbanonError, RefusedError, UsageError, format_names
from dbanon.errors.example import Situation
from dbanon.sqltext.messages import plural_form

_MAKE_KEY_HINT = "make one with `openssl rand -hex 32`"


class PseudonymKeyMissingError(DbanonError):
    """A pseudonym key that is not where the policy says."""

    message_pattern = "the key of pseudonyms was expected in"
    example = Situation(
        "It is raised if a pseudonym is to be published and its key is not where the policy states.",
        ("the environment variable DBANON_KEY", "is not set"),
    )

    def __init__(self, location: str, why: str) -> None:
        """Build the message.

        Args:
            location: Where the key was looked for, such as "the environment variable DBANON_KEY".
            why: The rest of the relative clause about it, such as "is not set".
        """
        super().__init__(
            f"the key of pseudonyms was expected in {location}, which {why}. Hint: {_MAKE_KEY_HINT} and put it there, "
            "or state its place in dbanon.policy, settings = {'key': 'env:NAME'} or {'key': 'file:/path'}; a "
            "different key gives every person a different pseudonym."
        )


class WeakPseudonymKeyError(RefusedError):
    """A pseudonym key that could be guessed."""

    message_pattern = "cannot be the key of pseudonyms"
    example = Situation(
        "It is raised if the key of pseudonyms is too short or does not look random.",
        ("the file /etc/clinic/key", "it has 16 bytes"),
    )

    def __init__(self, location: str, why: str) -> None:
        """Build the message.

        Args:
            location: Where the key is, such as "the file /keys/a".
            why: The reason, such as "it has 8 bytes".
        """
        super().__init__(
            f"the content of {location} cannot be the key of pseudonyms: {why}. Accepted: 32 random bytes or more, as "
            "hexadecimal digits or Base64. Anyone who guesses the key can restore every identifier. Hint: "
            f"{_MAKE_KEY_HINT}."
        )


class UnreadableKeyReferenceError(DbanonError):
    """A key reference that names neither an environment variable nor a file."""

    message = (
        "{setting} must be 'env:NAME' (an environment variable) or 'file:/absolute/path', and is neither. Hint: never "
        "write the key itself into a statement or dbanon.policy."
    )
    example = Situation("It is raised if the policy or a call has anything other than the place of the key.", ("key",))


class AmbiguousDataSubjectError(RefusedError):
    """Several pseudonym columns, without a declaration which one identifies the data subject."""

    message_pattern = "have the role pseudonym, and"
    example = Situation(
        "It is raised if columns of a table have the role pseudonym, no column has the role person, and none of them "
        "is declared to identify the person.",
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
            f"{'several are declared to identify' if is_several else 'none is declared to identify'} the data "
            "subject, whose rows k and the models count as those of one person. Hint: declare one in dbanon.policy, "
            f"such as settings = {{'person': 'true'}} for {columns[0]}, or give a column the role person."
        )


class PseudonymFormatMismatchError(DbanonError):
    """Two pseudonym columns that share key and scope and have different formats."""

    message = (
        "{function}: the pseudonyms {columns:names} of {table} share a key and a scope but differ in format, length "
        "or prefix. Equal values have the same pseudonym there, so its form must be the same. Hint: give them the "
        "same form in dbanon.policy, or remove the scope of one, so that equal values get different pseudonyms."
    )
    example = Situation(
        "It is raised if two columns have the same scope, so that equal values have the same pseudonym, but differ in "
        "form.",
        ("kacpc", ["patient", "mother"], "visits"),
    )


class CannotTransformColumnError(DbanonError):
    """A column that cannot be published as a pseudonym, mask or shifted date."""

    message = "{function}: {column} cannot have the role {role}: {why}. Accepted: {accepted}."
    example = Situation(
        "It is raised if the type of a column does not allow the role, or if dates are to be shifted and there is no "
        "person column.",
        ("kacpc", "visits.notes", "pseudonym", "it has the type VARCHAR[]", "numbers, text or UUIDs"),
    )


class TransformedColumnsNotSupportedError(DbanonError):
    """A column with the role pseudonym, mask or shift in a release that does not support them."""

    example = Situation(
        "It is raised if a stream, a release with noise or Spark would have to publish such a column.",
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
        hint = hint or f"withhold them, withhold = [{', '.join(repr(c) for c in columns)}]"
        super().__init__(
            f"{function}: {format_names(columns)} of {table} have the role pseudonym, mask or shift, which {output} "
            f"does not publish. Hint: {hint}."
        )


class DateShiftOutOfRangeError(DbanonError):
    """A date that cannot be shifted because it is at the end of its type's range."""

    message = (
        "{function}: {column} has a {type_} at the end of its type's range (less than {days} days from it), which "
        "cannot be shifted. Hint: if it is a code for a missing value, name it in `missing_codes`; otherwise withhold "
        "the column."
    )
    example = Situation(
        "It is raised if a date is too close to the end of its type's range to be shifted.",
        ("kacpc", "visits.day", "DATE", 30),
    )


class PseudonymCollisionError(RefusedError):
    """A pseudonym length at which two values would have the same pseudonym."""

    message = (
        "{function}: {count} {count:value|values} of {column} would have a pseudonym that another value has too, with "
        "length = "
        "{length}: two persons would become one. The shortest length without a collision is {least} (0: this format "
        "has none). Hint: set it in dbanon.policy, settings = {{'length': ...}}; longer is better, because persons "
        "may be added later."
    )
    example = Situation(
        "It is raised if pseudonyms are so short that two values would share one.",
        ("kacpc", 363, "visits.patient", 4, 7),
    )


def _linkage_text(columns: Sequence[str]) -> str:
    """Return words for a message that state which rows the pseudonym columns link."""
    if len(columns) == 1:
        return f"the pseudonym {columns[0]} shows which rows belong to one person"
    return f"the pseudonyms {', '.join(columns)} show which rows belong together"


def _withhold_hint(columns: Sequence[str]) -> str:
    """Return a hint for a message to withhold a pseudonym column; its example is the last of `columns`."""
    return f"withhold {'the pseudonym' if len(columns) == 1 else 'one of them'}, withhold = ['{columns[-1]}']"


class LinkedRowsBelowKError(RefusedError):
    """Persons whose rows, linked by their pseudonym, single them out."""

    message_pattern = "singled out by their linked rows"
    example = Situation(
        "It is raised if a pseudonym links the rows of persons and too few persons have rows in the same classes.",
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
            f"{function}: {count} {plural_form(count, 'person', 'persons')} of {table} "
            f"{plural_form(count, 'is', 'are')} "
            f"singled out by their linked rows: {_linkage_text(columns)}, "
            f"and fewer than k = {k} persons have the same number of rows in the same classes. Hint: "
            f"{_withhold_hint(columns)}, generalize more (min_level, grid, fewer columns in qi), try an algorithm "
            "that keeps equal records together (mondrian, datafly), or publish one row per person."
        )


class LinkedRowsMissModelError(RefusedError):
    """Linked rows of persons that together do not meet a privacy model."""

    message_pattern = "do(es)? not meet .* for the linked rows of their persons"
    example = Situation(
        "It is raised if a class meets a model but those of its persons who have rows in the same classes do not.",
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
            f"{function}: {count} {plural_form(count, 'group', 'groups')} of persons of {table} "
            f"{plural_form(count, 'does', 'do')} not meet {parameter} of {sensitive} for the linked rows of their "
            f"persons: {_linkage_text(columns)}. Hint: {_withhold_hint(columns)}, or generalize more."
        )


class LinkedRowsRareValuesError(RefusedError):
    """Unchanged values that single persons out when their rows are linked."""

    message_pattern = "have combined values of .* persons share"
    example = Situation(
        "It is raised if each value is common but the combination of values in the linked rows of a person is not.",
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
            f"{function}: the linked rows of {count} {plural_form(count, 'person', 'persons')} of {table} have "
            f"combined values of "
            f"{format_names(unchanged_columns)} that fewer than k = {k} persons share; {_linkage_text(columns)}. "
            f"Hint: {_withhold_hint(columns)}, withhold these columns, or accept the risk of a column with allow_rare "
            f"= ['{unchanged_columns[-1]}']."
        )


class InvalidTransformSettingError(UsageError):
    """An invalid setting of a pseudonym, mask or shift."""

    message_pattern = r": [\w ]+ must be .+, got "
    message = "{column}: {setting} must be {accepted}, got {given!r}."
    example = Situation(
        "It is raised if a setting of a pseudonym, mask or shift is not valid.",
        ("visits.patient", "length", "an integer from 4 to 64 for the format hex", 2),
    )
