"""From a call, as DuckDB passes it, to the SQL that answers it: arguments are read, the function's handler does it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dbanon.functions import arguments, literals
from dbanon.functions.call import Call
from dbanon.functions.registry import table_functions
from dbanon.session import Session
from dbanon.sqltext.builtin import bound


def answer(session: Session, call: Mapping[str, Any], places: Sequence[str]) -> str:
    """The SQL of one call. `call` has function, positional, slots and named."""
    if session.recorded is not None:
        session.recorded.append(call)
        return "SELECT 1"
    name = call["function"]
    placed = table_functions()[name].placed
    given = arguments.merged(name, call["slots"] or (), dict(call["named"] or {}), placed)
    with session.cursor() as cursor:
        if call["positional"] or call["named"]:
            literals.refuse(name, cursor)
        read = Call.of(session, cursor, name, call["positional"] or {}, given, places)
        query = str(read.function.handler(read))
        if session.explained is not None:
            session.explained.append((name, query))
        return bound(query)
