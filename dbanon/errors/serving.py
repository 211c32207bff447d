"""Errors about databases that are served to other clients."""

from collections.abc import Iterable, Sequence

from dbanon.errors.base import DbanonError, RefusedError, UsageError, did_you_mean
from dbanon.errors.example import Example, Situation

_READER = "A server of `dbanon serve` returns it to a reader "


class QuackExtensionMissingError(DbanonError):
    """An extension for DuckDB's protocol is missing, or was built for another version of DuckDB."""

    message = (
        "{function}: DuckDB {duckdb} needs its extension {extension}, and {why}. An extension works only with the "
        "version of DuckDB that it was built for. Hint: in the clone of dbanon, pip install -e '.[serve]', or, with "
        "access to the internet, INSTALL {extension} in DuckDB {duckdb}."
    )
    example = Situation(
        "It is raised by `dbanon serve` and `dbanon write-client` if DuckDB's extensions are missing, or were built "
        "for another version of DuckDB than the installed one.",
        ("serve", "1.5.5", "quack", "it is not installed"),
    )


class NotLoopbackAddressError(UsageError):
    """An address that other machines can reach."""

    message = (
        "{function}: other machines can reach {listen}, and the connection is not encrypted. Accepted: 127.0.0.1, ::1 "
        "or localhost with a port. Hint: put a proxy with TLS in front of the server, or add --allow-remote."
    )
    example = Example("dbanon serve dbanon_demo.duckdb --role reader --listen 0.0.0.0:9494", language="sh")


class CannotListenError(DbanonError):
    """An address on which the server cannot listen."""

    message = "{function}: the server cannot listen on {listen}: {why}. Hint: --listen 127.0.0.1:PORT."
    example = Situation(
        "It is raised by `dbanon serve` if another server uses the port.",
        ("serve", "127.0.0.1:9494", "another process listens there, or this machine does not have the address"),
    )


class NoReleaseToServeError(DbanonError):
    """A database that another process has open, and of which no earlier copy exists."""

    outcome = "busy"
    message = (
        "{function}: the releases of {database} cannot be copied: {why}. Hint: try again when no other process has "
        "the database open, or serve it with --role custodian in that process, which makes these copies too."
    )
    example = Situation(
        "It is raised by `dbanon serve --role reader` if another process has the database open and nothing was copied "
        "from it before.",
        ("serve", "clinic.duckdb", "IO Error: Could not set lock on file"),
    )


class ReaderStatementRefusedError(RefusedError):
    """A statement that a reader may not run."""

    message_pattern = "readers may run one SELECT"
    example = Situation(
        _READER + "who asks for anything but one SELECT over published tables.", ("The table", "'patients'")
    )

    def __init__(self, subject: str, name: str = "") -> None:
        """Build the message, and store `subject` as an attribute for the log.

        Args:
            subject: What the reader may not use, such as "The table", without a name, for the log.
            name: The name, for the message only.
        """
        self.subject = subject
        super().__init__(
            f"{subject} {name}".rstrip()
            + ": readers may run one SELECT over published tables, with functions that compute from their "
            "arguments. Hint: FROM releases() lists the tables; ask the custodian of the data for others."
        )


class RequestNotPermittedError(RefusedError):
    """A release that a reader may not request."""

    example = Situation(
        _READER + "who asks for a release that no row of `dbanon.permission` allows.",
        ("kacpc('patients', k=5)", ["kacpc of 'patients' with k >= 20"], ["bob"]),
    )

    def __init__(self, call: str, permitted_calls: Sequence[str], custodians: Sequence[str] = ()) -> None:
        """Build the message; of permitted calls and custodians, at most twelve each are named."""
        permitted_text = "; ".join(permitted_calls[:12]) or "nothing"
        custodian_text = (
            f"the custodian of the data ({', '.join(custodians[:12])})" if custodians else "the custodian of the data"
        )
        super().__init__(
            f"{call}: readers may ask only for permitted releases, here {permitted_text}. Hint: FROM releases() lists "
            f"the existing ones; ask {custodian_text} for a row in dbanon.permission."
        )


class ReleaseUnavailableError(RefusedError):
    """A permitted release that cannot be created."""

    example = Situation(
        _READER + "who asks for a permitted release that is refused because of earlier releases, or cannot be created. "
        "`dbanon.release_request` has the reason.",
        ("kacpc('patients', k=25)", ["kacpc('patients', k=20)"]),
    )

    def __init__(self, call: str, available: Sequence[str]) -> None:
        """Build the message; `available` are the calls whose releases exist, of which at most twelve are named."""
        super().__init__(
            f"{call} cannot be released, or not in addition to earlier releases; the custodian finds the reason in "
            f"dbanon.release_request.{_existing_releases(available)} Hint: ask for an existing one, or ask the "
            "custodian of the data."
        )


class RequestLimitReachedError(RefusedError):
    """A permitted release of a source of which as many releases were requested as the permission allows."""

    example = Situation(
        _READER + "who asks for a permitted release after `max_requests` different ones of its source were requested.",
        ("kacpc('patients', k=25)", "patients", 10, ["kacpc('patients', k=20)"]),
    )

    def __init__(self, call: str, source: str, max_requests: int, available: Sequence[str]) -> None:
        """Build the message; `available` are the calls whose releases exist, of which at most twelve are named."""
        super().__init__(
            f"{call} is not created: readers may request at most {max_requests} different releases of '{source}' "
            f"(refused ones count), and these were requested already.{_existing_releases(available)} Hint: ask for an "
            "existing one, or ask the custodian of the data for a greater max_requests in dbanon.permission."
        )


def _existing_releases(calls: Sequence[str]) -> str:
    """Return the sentence that names at most twelve calls whose releases exist, after a space; "" without any."""
    return f" Existing releases: {'; '.join(calls[:12])}." if calls else ""


class ReleasePendingError(DbanonError):
    """A requested release that is still being created, or could not be created for a reason that may not recur."""

    outcome = "busy"
    example = Situation(
        _READER + "who asks for a release that takes longer to create than `--statement-timeout`.",
        ("kacpc('patients', k=20)",),
    )

    def __init__(self, call: str, why: str = "is being made") -> None:
        """Build the message; `call` is the request, `why` states what happens with it."""
        super().__init__(f"{call} {why}. Hint: try again later.")


class LimitExceededError(DbanonError):
    """A statement that exceeds a limit of the session."""

    message = "{what}. Hint: select less, or ask the custodian of the data for a higher limit."
    example = Situation(
        _READER + "whose statement exceeds `--statement-timeout`, `--memory` or `--max-rows`.",
        ("The statement took longer than 30 seconds",),
    )


class ServerStoppingError(DbanonError):
    """A statement for a server that is stopping."""

    outcome = "busy"
    message = "{server} is stopping and accepts no more statements. Hint: try again later."
    example = Situation(
        "A server that is stopping returns it to a client while it finishes running statements.",
        ("quack:127.0.0.1:9494",),
    )


class TokenExistsError(DbanonError):
    """A token name that is already in use."""

    message = (
        "token add: there is a token named '{name}' already, and the log identifies requests by that name. Hint: "
        "choose another name, or revoke the old token first."
    )
    example = Situation(
        "It is raised by `dbanon token add` if the name has a token already, of either role.", ("alice",)
    )


class UnknownTokenError(DbanonError):
    """A token name that does not exist."""

    example = Example("dbanon token revoke dbanon_demo.duckdb alise", language="sh")

    def __init__(self, name: str, tokens: Iterable[str]) -> None:
        """Build the message, with the most similar of the names `tokens` as a hint."""
        super().__init__(
            f"token revoke: there is no token named '{name}'.{did_you_mean(name, tokens)} Hint: `dbanon token list` "
            "lists them."
        )


class ServerStartFailedError(DbanonError):
    """A reader process that could not start, with its output."""

    example = Situation(
        "It is raised by `dbanon serve --role reader` if the process that runs the statements cannot start; it "
        "contains the output of that process.",
        ("exit code 1",),
    )

    def __init__(self, process_output: str) -> None:
        """Use the output of the process as the message, if it is a sentence; else embed it in one."""
        super().__init__(
            process_output
            if process_output.endswith((".", "?"))
            else f"serve: the process that runs the statements ended: {process_output}."
        )
