"""Databases that are served to other clients."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dbanon.errors.base import DbanonError, near


class NoQuack(DbanonError):
    """The extension that speaks DuckDB's protocol is missing, or is of another DuckDB."""

    def __init__(self, function: str, extension: str, duckdb: str, why: str) -> None:
        super().__init__(
            f"{function}: DuckDB {duckdb} needs its extension {extension}, and {why}. An extension works with the one "
            "DuckDB that it is made for. Hint: pip install 'dbanon[serve]', or, with access to the internet, "
            f"INSTALL {extension} in DuckDB {duckdb}."
        )


class NotLoopback(DbanonError):
    """An address that other machines reach."""

    outcome = "usage"

    def __init__(self, function: str, listen: str) -> None:
        super().__init__(
            f"{function}: other machines can reach {listen}, and what is served is not encrypted. Accepted: 127.0.0.1, "
            "::1 or localhost with a port. Hint: put a proxy with TLS in front of it, or say --allow-remote."
        )


class NotListening(DbanonError):
    """An address that cannot be listened on."""

    def __init__(self, function: str, listen: str, why: str) -> None:
        super().__init__(f"{function}: {listen} cannot be listened on: {why}. Hint: --listen 127.0.0.1:PORT.")


class NothingToServe(DbanonError):
    """Another process has the database, and nothing of it was copied before."""

    outcome = "busy"

    def __init__(self, function: str, database: str, why: str) -> None:
        super().__init__(
            f"{function}: what {database} has published cannot be copied: {why}. Hint: try again when no other process "
            "has it, or serve it with --role custodian there, which makes these copies, too."
        )


class NotForReaders(DbanonError):
    """A statement that a reader may not run."""

    outcome = "refused"
    words = "readers may ask one SELECT"

    def __init__(self, what: str, name: str = "") -> None:
        self.what = what
        """What it is, without the name: that is for the log."""
        super().__init__(
            f"{what} {name}".rstrip()
            + ": readers may ask one SELECT over published tables, with functions that compute from their arguments. "
            "Hint: FROM releases() lists the tables; ask the custodian of the data for others."
        )


class NotPermitted(DbanonError):
    """A release that a reader may not ask for."""

    outcome = "refused"

    def __init__(self, what: str, permitted: Sequence[str], whom: Sequence[str] = ()) -> None:
        may = "; ".join(permitted[:12]) or "nothing"
        who = f"the custodian of the data ({', '.join(whom[:12])})" if whom else "the custodian of the data"
        super().__init__(
            f"{what}: readers may ask for releases that they are permitted, here {may}. Hint: FROM releases() lists "
            f"those that there are; ask {who} for a row in dbanon.permission."
        )


class NotReleased(DbanonError):
    """A release that a reader may ask for, and that there cannot be."""

    outcome = "refused"

    def __init__(self, asked: str, released: Sequence[str]) -> None:
        there = f" There are: {'; '.join(released[:12])}." if released else ""
        super().__init__(
            f"{asked} cannot be released beside what was released before, or at all; dbanon.asked tells the custodian "
            f"why.{there} Hint: ask for one that there is, or ask the custodian of the data."
        )


class StillMade(DbanonError):
    """A release that a reader asked for and that is not there yet."""

    outcome = "busy"

    def __init__(self, asked: str, why: str = "is being made") -> None:
        super().__init__(f"{asked} {why}. Hint: ask again in a while.")


class BeyondLimit(DbanonError):
    """A statement that takes longer, or gives more, than a session may."""

    def __init__(self, what: str) -> None:
        super().__init__(f"{what}. Hint: ask for less, or ask the custodian of the data for a greater limit.")


class ServerStops(DbanonError):
    """A statement that came after the server was told to stop."""

    outcome = "busy"

    def __init__(self, server: str) -> None:
        super().__init__(f"{server} is being stopped and takes no more statements. Hint: try again later.")


class TokenExists(DbanonError):
    """A second token of one name."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"token add: there is a token named '{name}', and what happens is logged by that name. Hint: choose "
            "another name, or revoke the old token first."
        )


class UnknownToken(DbanonError):
    """A token that there is not."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        super().__init__(f"token revoke: there is no token named '{name}'.{near(name, known)} Hint: token list.")


class NotServed(DbanonError):
    """What the process that answers clients said when it could not begin."""

    def __init__(self, said: str) -> None:
        super().__init__(said if said.endswith((".", "?")) else f"serve: the process that answers ended: {said}.")
