"""Errors about releases that are copied to a PostgreSQL database."""

from dbanon.errors.base import DbanonError
from dbanon.errors.example import Situation

_SHOWN = "It is raised for a materialized anonymized view with a copy in PostgreSQL "

_SERVER = "postgres:7411264587391234567"


class InvalidDeliveryTargetError(DbanonError):
    """A PostgreSQL table to which this release cannot be copied; raised before anything is created."""

    message = "{function}: no release can be copied to {target}: {why}. Nothing was changed. Hint: {hint}."
    example = Situation(
        _SHOWN
        + "if a table of that name exists already, the role may not create tables, the database was attached with "
        "`READ_ONLY`, or PostgreSQL does not accept a name or a value.",
        (
            "create_release",
            '"pg"."public"."safe"',
            "safe exists already, and dbanon did not create it for this release",
            "choose another name, or drop it in PostgreSQL",
        ),
    )


class DeliveryTargetMismatchError(DbanonError):
    """A release whose copy is in another table than the statement states, or in a database that is not attached."""

    message = (
        "{function}: according to the ledger, the copy of {release} is {target}, but {why}. Nothing was changed. "
        "Hint: {hint}."
    )
    example = Situation(
        _SHOWN + "if the database that has the tables is not attached, or another database is attached under its name.",
        (
            "refresh_release",
            "safe",
            f'"public"."safe" in {_SERVER}/16384',
            f"pg is {_SERVER}/5",
            "attach the other one, and use the name that it then has",
        ),
    )


class DeliveryFailedError(DbanonError):
    """A recorded version that could not be copied to PostgreSQL, or a copy that could not be dropped."""

    example = Situation(
        _SHOWN + "if PostgreSQL did not accept the tables after the version was created and recorded.",
        (
            "refresh_release",
            "safe version 2",
            f'"public"."safe" in {_SERVER}/16384',
            "permission denied for table safe",
        ),
    )

    def __init__(self, function: str, release: str, target: str, why: str) -> None:
        """Build the message.

        Args:
            function: The function that was called. For "drop_release", the message is about a copy that was not
                dropped; otherwise about a version that is recorded in the ledger and not copied.
            release: The release.
            target: The PostgreSQL table.
            why: The reason.
        """
        reason = why.rstrip(".")
        if function == "drop_release":
            text = (
                f"{target} could not be dropped, so {release} was not dropped either: {reason}. Hint: fix the "
                "problem, then drop it again"
            )
        else:
            text = (
                f"{release} is recorded in the ledger but was not copied: {reason}. {target} is unchanged. Hint: fix "
                "the problem, then refresh the release, which copies it (with if_stale = true, without a new version)"
            )
        super().__init__(f"{function}: {text}.")
