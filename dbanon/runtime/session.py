"""Sessions of attached connections.

DuckDB calls UDFs by name with values only, so the macros pass a token that identifies the session. Nothing here keeps
a database open: connections are weakly referenced, and closing one ends its session.
"""

import itertools
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbanon.runtime.label_cache import LabelCache

OnProgress = Callable[[float, float], None]
"""A callback `progress(fraction_done, loss_removed)`: the fraction of the work that is done (in a search: of its time
or moves) and, in a search, the fraction of the initial loss that has been removed.
"""


@dataclass
class TimedSearch:
    """A search with a time limit: the count of Ctrl-C before it began, and the number of moves it made."""

    seconds: float
    ctrl_c_count: int
    moves: int = 0


@dataclass
class TemporaryRelations:
    """Temporary relations of a connection by folded name, as far as it keeps track of them.

    `columns` are types by column, `views` statements of views, `scans` what relations that are sources read
    (`source.bound_scans`), `policies` those of temporary tables (`stored_policy.TemporaryPolicy`).
    """

    columns: dict[str, Mapping[str, str]] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    scans: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Session:
    """One attached connection."""

    token: str
    connection: weakref.ref[Any]
    cache: LabelCache
    interrupts: int = 0
    temporary: TemporaryRelations = field(default_factory=TemporaryRelations)
    own_macros: Callable[[], Mapping[str, str]] = dict
    """Return the MD5 hashes of the definitions of dbanon's table functions on a connection, by name."""
    recorded_calls: list[Mapping[str, Any]] | None = None
    """Where it is a list, calls are noted in it instead of being planned."""
    explained_statements: list[tuple[str, str]] | None = None
    """Where it is a list, functions that are called are noted in it with the statements that answer them."""
    planned_releases: list[tuple[Sequence[str], Sequence[str]]] | None = None
    """Where it is a list, the columns of each release that is planned are noted in it, and its quasi-identifiers."""
    search: TimedSearch | None = None
    """If set, classes are improved for its time."""
    on_progress: OnProgress | None = None
    """Called with the progress of a search or a forest."""
    n_compared: int = 0
    """Parts of the comparison that runs which are done, in whatever order DuckDB takes them."""
    quasi_counts: Sequence[int] = ()
    """Numbers of quasi-identifiers of the comparison that was planned last."""
    on_review: Callable[[list[str]], None] | None = None
    """What is told, in lines of text, what the first release of a name will publish, before it does."""

    def cursor(self) -> Any:
        """Return a new cursor of the connection for the planner; it sees committed state only."""
        connection = self.connection()
        if connection is None:
            raise RuntimeError("the connection of this statement is closed")
        return builtin_cursor(connection)


def builtin_cursor(connection: Any) -> Any:
    """Return a cursor on which function names mean DuckDB's own functions, whatever macros the databases define."""
    cursor = connection.cursor()
    cursor.execute("SET search_path = 'system.main'")
    return cursor


_SESSIONS: dict[str, Session] = {}
_TOKENS = itertools.count(1)


def start_session(connection: Any, cache: LabelCache) -> Session:
    """Return a new session of a connection; it ends when the connection object is deleted."""
    token = f"s{next(_TOKENS)}"
    session = Session(token, weakref.ref(connection, lambda _: _SESSIONS.pop(token, None)), cache)
    _SESSIONS[token] = session
    return session


def session_by_token(token: str) -> Session:
    """Return the session that a token identifies."""
    if token not in _SESSIONS:
        raise RuntimeError("this connection is not attached; call dbanon.attach(connection)")
    return _SESSIONS[token]


def find_session(connection: Any) -> Session:
    """Return the session of a connection.

    Raises:
        KeyError: The connection is not attached.
    """
    for session in list(_SESSIONS.values()):
        if session.connection() is connection:
            return session
    raise KeyError(connection)
