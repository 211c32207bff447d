"""Errors about releases that are copied to a PostgreSQL database."""

from dbanon.errors.base import DbanonError
from dbanon.errors.example import Situation

_SHOWN = "It comes from a materialized anonymized view that is shown in PostgreSQL, "

_SERVER = "postgres:7411264587391234567"


class InvalidDeliveryTargetError(DbanonError):
    """A PostgreSQL table to which this release cannot be copied; raised before anything is created."""

    message = "{function}: no release can be put into {target}: {why}. Nothing was changed. Hint: {hint}."
    example = Situation(
        _SHOWN + "where a table of that name is there already, where the role may make none, where "
        "`READ_ONLY` was said when it was attached, or where PostgreSQL cannot have a name or a value.",
        (
            "create_release",
            '"pg"."public"."safe"',
            "safe is there, and dbanon did not put it there for this release",
            "choose another name, or drop it in PostgreSQL",
        ),
    )


class DeliveryTargetMismatchError(DbanonError):
    """A release whose copy is in another table than the statement states, or in a database that is not attached."""

    message = (
        "{function}: by the ledger the copy of {release} is {target}, and {why}. Nothing was changed. Hint: {hint}."
    )
    example = Situation(
        _SHOWN + "where the database that has the tables is not attached, or another one by its name.",
        (
            "refresh_release",
            "safe",
            f'"public"."safe" in {_SERVER}/16384',
            f"pg is {_SERVER}/5",
            "attach the other one, and write the name that it then has",
        ),
    )


class DeliveryFailedError(DbanonError):
    """A recorded version that could not be copied to PostgreSQL, or a copy that could not be dropped."""

    example = Situation(
        _SHOWN + "where PostgreSQL did not take the tables after the version was made and recorded.",
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
            text = f"{target} could not be dropped, and {release} was not dropped either: {reason}. Hint: drop it again"
        else:
            text = (
                f"{release} is recorded in the ledger and not delivered: {reason}. {target} is as it was before. Hint: "
                "once that is mended, refresh it (with if_stale = true no new version is made), which delivers it"
            )
        super().__init__(f"{function}: {text}.")
