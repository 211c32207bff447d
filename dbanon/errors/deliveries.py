"""Releases that are shown in a database of PostgreSQL, too."""

from __future__ import annotations

from dbanon.errors.base import DbanonError


class TargetRefused(DbanonError):
    """A place in PostgreSQL, or a release, of which no copy can be put there; known before anything is made."""

    def __init__(self, function: str, target: str, why: str, hint: str) -> None:
        super().__init__(f"{function}: no release can be put into {target}: {why}. Nothing was changed. Hint: {hint}.")


class OtherTarget(DbanonError):
    """A release whose copy is in another place than a statement says, or in a database that is not attached."""

    def __init__(self, function: str, release: str, target: str, why: str, hint: str) -> None:
        super().__init__(
            f"{function}: by the ledger the copy of {release} is {target}, and {why}. Nothing was changed. "
            f"Hint: {hint}."
        )


class NotDelivered(DbanonError):
    """A version that is in the ledger and could not be copied to PostgreSQL, or a copy that could not be dropped."""

    def __init__(self, function: str, release: str, target: str, why: str) -> None:
        said = why.rstrip(".")
        if function == "drop":
            text = f"{target} could not be dropped, and {release} was not dropped either: {said}. Hint: drop it again"
        else:
            text = (
                f"{release} is recorded in the ledger and not delivered: {said}. {target} is as it was before. Hint: "
                "once that is mended, refresh it (with if_stale = true no new version is made), which delivers it"
            )
        super().__init__(f"{function}: {text}.")
