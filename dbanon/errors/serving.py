"""Errors about databases that are served to other clients."""

from collections.abc import Iterable, Sequence

from dbanon.errors.base import DbanonError, RefusedError, UsageError, did_you_mean
from dbanon.errors.example import Example, Situation

_READER = "It comes to a reader who asks a server of `dbanon serve`, "


class QuackExtensionMissingError(DbanonError):
    """An extension for DuckDB's protocol is missing, or was built for another version of DuckDB."""

    message = (
        "{function}: DuckDB {duckdb} needs its extension {extension}, and {why}. An extension works with the one "
        "DuckDB that it is made for. Hint: in the clone of dbanon, pip install -e '.[serve]', or, with access to the "
        "internet, INSTALL {extension} in DuckDB {duckdb}."
    )
    example = Situation(
        "It comes from `dbanon serve` and `dbanon write-client` where DuckDB's extensions are missing, or are made for "
        "another version of DuckDB than the one that is installed.",
        ("serve", "1.5.5", "quack", "it is not installed"),
    )


class NotLoopbackAddressError(UsageError):
    """An address that other machines can reach."""

    message = (
        "{function}: other machines can reach {listen}, and what is served is not encrypted. Accepted: 127.0.0.1, "
        "::1 or localhost with a port. Hint: put a proxy with TLS in front of it, or say --allow-remote."
    )
    example = Example("dbanon serve dbanon_demo.duckdb --role reader --listen 0.0.0.0:9494", language="sh")


class CannotListenError(DbanonError):
    """An address on which the server cannot listen."""

    message = "{function}: {listen} cannot be listened on: {why}. Hint: --listen 127.0.0.1:PORT."
    example = Situation(
        "It comes from `dbanon serve` where another server has the port.",
        ("serve", "127.0.0.1:9494", "another process listens there, or the address is not of this machine"),
    )


class NoReleaseToServeError(DbanonError):
    """A database that another process has open, and of which no earlier copy exists."""

    outcome = "busy"
    message = (
        "{function}: what {database} has published cannot be copied: {why}. Hint: try again when no other process "
        "has it, or serve it with --role custodian there, which makes these copies, too."
    )
    example = Situation(
        "It comes from `dbanon serve --role reader` where another process has the database open and nothing was "
        "copied from it before.",
        ("serve", "clinic.duckdb", "IO Error: Could not set lock on file"),
    )


class ReaderStatementRefusedError(RefusedError):
    """A statement that a reader may not run."""

    message_pattern = "readers may ask one SELECT"
    example = Situation(_READER + "for anything but one SELECT over what was published.", ("The table", "'patients'"))

    def __init__(self, subject: str, name: str = "") -> None:
        """Build the message, and store `subject` as an attribute for the log.

        Args:
            subject: What the reader may not use, such as "The table", without a name.
            name: The name, for the message only.
        """
        self.subject = subject
        """What it is, without the name: that is for the log."""
        super().__init__(
            f"{subject} {name}".rstrip()
            + ": readers may ask one SELECT over published tables, with functions that compute from their arguments. "
            "Hint: FROM releases() lists the tables; ask the custodian of the data for others."
        )


class RequestNotPermittedError(RefusedError):
    """A release that a reader may not request."""

    example = Situation(
        _READER + "for a release that no row of `dbanon.permission` lets him ask for.",
        ("kacpc('patients', k=5)", ["kacpc of 'patients' from k = 20 on"], ["bob"]),
    )

    def __init__(self, call: str, permitted_calls: Sequence[str], custodians: Sequence[str] = ()) -> None:
        """Build the message; of permitted calls and custodians, at most twelve each are named."""
        permitted_text = "; ".join(permitted_calls[:12]) or "nothing"
        custodian_text = (
            f"the custodian of the data ({', '.join(custodians[:12])})" if custodians else "the custodian of the data"
        )
        super().__init__(
            f"{call}: readers may ask for releases that they are permitted, here {permitted_text}. Hint: FROM "
            "releases() lists "
            f"those that there are; ask {custodian_text} for a row in dbanon.permission."
        )


class ReleaseUnavailableError(RefusedError):
    """A permitted release that cannot be created."""

    example = Situation(
        _READER + "for a release that he is permitted, and that is refused beside what was released before, or "
        "cannot be made. `dbanon.release_request` has the reason.",
        ("kacpc('patients', k=25)", ["kacpc('patients', k=20)"]),
    )

    def __init__(self, call: str, available: Sequence[str]) -> None:
        """Build the message; `available` are the calls whose releases exist, of which at most twelve are named."""
        available_text = f" There are: {'; '.join(available[:12])}." if available else ""
        super().__init__(
            f"{call} cannot be released beside what was released before, or at all; dbanon.release_request tells "
            f"the custodian "
            f"why.{available_text} Hint: ask for one that there is, or ask the custodian of the data."
        )


class ReleasePendingError(DbanonError):
    """A requested release that is still being created."""

    outcome = "busy"
    example = Situation(
        _READER + "for a release that is being made and takes longer than `--statement-timeout`.",
        ("kacpc('patients', k=20)",),
    )

    def __init__(self, call: str, why: str = "is being made") -> None:
        """Build the message; `call` is the request, `why` states what happens with it."""
        super().__init__(f"{call} {why}. Hint: ask again in a while.")


class LimitExceededError(DbanonError):
    """A statement that exceeds a limit of the session."""

    message = "{what}. Hint: ask for less, or ask the custodian of the data for a greater limit."
    example = Situation(
        _READER + "where a statement exceeds `--statement-timeout`, `--memory` or `--max-rows`.",
        ("The statement took longer than 30 seconds",),
    )


class ServerStoppingError(DbanonError):
    """A statement for a server that is stopping."""

    outcome = "busy"
    message = "{server} is being stopped and takes no more statements. Hint: try again later."
    example = Situation(
        "It comes to a client that asks a server which was told to stop and still finishes what runs.",
        ("quack:127.0.0.1:9494",),
    )


class TokenExistsError(DbanonError):
    """A token name that is already in use."""

    message = (
        "token add: there is a token named '{name}', and what happens is logged by that name. Hint: choose "
        "another name, or revoke the old token first."
    )
    example = Situation("It comes from `dbanon token add` where the name has a token, of either role.", ("alice",))


class UnknownTokenError(DbanonError):
    """A token name that does not exist."""

    example = Example("dbanon token revoke dbanon_demo.duckdb alise", language="sh")

    def __init__(self, name: str, tokens: Iterable[str]) -> None:
        """Build the message, with the most similar of the names `tokens` as a hint."""
        super().__init__(
            f"token revoke: there is no token named '{name}'.{did_you_mean(name, tokens)} Hint: token list."
        )


class ServerStartFailedError(DbanonError):
    """A reader process that could not start, with its output."""

    example = Situation(
        "It comes from `dbanon serve --role reader` where the process that answers cannot begin, with what that "
        "process said.",
        ("exit code 1",),
    )

    def __init__(self, process_output: str) -> None:
        """Use the output of the process as the message, if it is a sentence; else embed it in one."""
        super().__init__(
            process_output
            if process_output.endswith((".", "?"))
            else f"serve: the process that answers ended: {process_output}."
        )
