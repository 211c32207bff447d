"""Mistakes with `dbanon serve`, which an example could only make where a server runs."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import Mistake, sh

_READER = "It comes to a reader who asks a server of `dbanon serve`, "

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        errors.BeyondLimit("The statement took longer than 30 seconds"),
        when=_READER
        + "where a statement takes longer, or needs or gives more, than `--seconds`, `--memory` and `--rows` "
        "let it.",
    ),
    Mistake(
        errors.NoQuack("serve", "quack", "1.5.5", "it is not installed"),
        when="It comes from `dbanon serve` and `dbanon client` where DuckDB's extensions are missing, or are made for "
        "another version of DuckDB than the one that is installed.",
    ),
    Mistake(
        errors.NotForReaders("The table", "'patients'"),
        when=_READER + "for anything but one SELECT over what was published.",
    ),
    Mistake(
        errors.NotPermitted("kacpc('patients', k=5)", ["kacpc of 'patients' from k = 20 on"], ["bob"]),
        when=_READER + "for a release that no row of `dbanon.permission` lets him ask for.",
    ),
    Mistake(
        errors.NotReleased("kacpc('patients', k=25)", ["kacpc('patients', k=20)"]),
        when=_READER + "for a release that he is permitted, and that is refused beside what was released before, or "
        "cannot be made. `dbanon.asked` has the reason.",
    ),
    Mistake(
        errors.StillMade("kacpc('patients', k=20)"),
        when=_READER + "for a release that is being made and takes longer than `--seconds`.",
    ),
    Mistake(
        errors.NotListening(
            "serve", "127.0.0.1:9494", "another process listens there, or the address is not of this machine"
        ),
        when="It comes from `dbanon serve` where another server has the port.",
    ),
    sh(
        errors.NotLoopback("serve", "0.0.0.0:9494"),
        "dbanon serve dbanon_demo.duckdb --role reader --listen 0.0.0.0:9494",
    ),
    Mistake(
        errors.NotServed("exit code 1"),
        when="It comes from `dbanon serve --role reader` where the process that answers cannot begin, with what that "
        "process said.",
    ),
    Mistake(
        errors.NothingToServe("serve", "clinic.duckdb", "IO Error: Could not set lock on file"),
        when="It comes from `dbanon serve --role reader` where another process has the database open and nothing was "
        "copied from it before.",
    ),
    Mistake(
        errors.ServerStops("quack:127.0.0.1:9494"),
        when="It comes to a client that asks a server which was told to stop and still finishes what runs.",
    ),
    Mistake(
        errors.TokenExists("alice"),
        when="It comes from `dbanon token add` where the name has a token, of either role.",
    ),
    sh(errors.UnknownToken("alise", []), "dbanon token revoke dbanon_demo.duckdb alise"),
)
