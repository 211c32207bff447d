"""Keys, pseudonyms, masks and shifted dates. No message has anything of a key but where it was looked for."""

from __future__ import annotations

from dbanon.errors.base import DbanonError

_MAKE = "make one with `openssl rand -hex 32`"


class KeyMissing(DbanonError):
    """The key of pseudonyms is not where it is looked for."""

    words = "the key of pseudonyms was looked for in"

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"the key of pseudonyms was looked for in {where}, which {why}. Hint: {_MAKE} and put it there, or say "
            "where it is with key = 'env:NAME' or key = 'file:/path' in dbanon.policy or in the call; a lost key "
            "makes every earlier pseudonym another one."
        )


class WeakKey(DbanonError):
    """A key of pseudonyms that somebody could guess."""

    outcome = "refused"
    words = "cannot be the key of pseudonyms"

    def __init__(self, where: str, why: str) -> None:
        super().__init__(
            f"what is in {where} cannot be the key of pseudonyms: {why}. Accepted: 32 random bytes or more, in "
            f"hexadecimal digits or Base64. Whoever guesses the key has every identifier back. Hint: {_MAKE}."
        )


class UnreadableKeyReference(DbanonError):
    """A reference to a key that says neither an environment variable nor a file."""

    def __init__(self, given: str) -> None:
        super().__init__(
            f"key must be 'env:NAME' (an environment variable) or 'file:/absolute/path', got {given}. Hint: the key "
            "itself stands in neither a statement nor dbanon.policy."
        )


class InvalidForm(DbanonError):
    """A setting of a pseudonym, mask or shift that is none."""

    def __init__(self, column: str, setting: str, given: object, accepted: str) -> None:
        super().__init__(f"{column}: {setting} must be {accepted}, got {given!r}.")
