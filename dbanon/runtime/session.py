"""Sessions of attached connections.

DuckDB calls UDFs by name with values only, so the macros pass a token that identifies the session. Nothing here keeps
a database open: connections are weakly referenced, and closing one ends its session.
"""

import contextlib
import itertools
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dbanon import errors
from dbanon.runtime.label_cache import LabelCache

OnProgress = Callable[[float, float], None]
"""A callback `progress(fraction_done, loss_removed)`: the fraction of the work that is done (in a search: of its time
or moves) and, in a search, the fraction of the initial loss that has been removed.
"""


@dataclass
class TimedSearch:
    """A search with a time limit.

    Attributes:
        seconds: The time limit.
        ctrl_c_count: The value of the Ctrl-C counter when the search began.
        moves: The number of moves that the search has made so far.
    """

    seconds: float
    ctrl_c_count: int
    moves: int = 0


@dataclass
class TemporaryRelations:
    """Temporary tables and views of a connection by folded (lower-case) name, as far as it keeps track of them.

    Attributes:
        columns: Types by column name.
        views: The statements of views.
        scans: The relations that a temporary relation reads if it is used as a source (`source.bound_scans`).
        policies: The policies of temporary tables (`stored_policy.TemporaryPolicy`).
    """

    columns: dict[str, Mapping[str, str]] = field(default_factory=dict)
    views: Mapping[str, str] = field(default_factory=dict)
    scans: Mapping[str, Any] = field(default_factory=dict)
    policies: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Recorded:
    """Receives what a session plans: a collection that is not None is filled. `filling` sets some for a block.

    Attributes:
        calls: The calls, which are then not planned.
        statements: The name of each called function, with the statement that answers the call.
        kinds: The statements of a planned release by kind: of its rows, its classes and its metrics. They have the same
            steps up to the gate.
        releases: The columns of each planned release, and its quasi-identifiers.
        notes: Sentences about the result of a statement, for a person who reads it.
    """

    calls: list[Mapping[str, Any]] | None = None
    statements: list[tuple[str, str]] | None = None
    kinds: dict[str, str] | None = None
    releases: list[tuple[Sequence[str], Sequence[str]]] | None = None
    notes: list[str] | None = None

    @contextlib.contextmanager
    def filling(self, **collections: list[Any] | dict[str, Any]) -> Iterator[None]:
        """Fill these collections during the block, and none of them after it."""
        vars(self).update(collections)
        try:
            yield
        finally:
            vars(self).update(dict.fromkeys(collections))


@dataclass
class Session:
    """The state of one connection to which dbanon is attached; macros pass its token to the UDFs.

    Attributes:
        token: The identifier, unique in this process.
        connection: A weak reference to the DuckDB connection.
        cache: The cluster labels that all connections of the database instance share.
        interrupts: How often the session was interrupted.
        temporary: The temporary relations of the connection.
    """

    token: str
    connection: weakref.ref[Any]
    cache: LabelCache
    interrupts: int = 0
    temporary: TemporaryRelations = field(default_factory=TemporaryRelations)
    own_macros: Callable[[], Mapping[str, str]] = dict
    """A function that returns the MD5 hashes of the definitions of dbanon's table functions, by name."""
    created_macros: set[str] = field(default_factory=set)
    """The names of the functions of dbanon for which the connection has macros, unless it has all of them."""
    has_all_macros: bool = False
    """Whether the connection has the macros of all functions."""
    recorded: Recorded = field(default_factory=Recorded)
    """Receives what the session plans, as far as someone asks for it."""
    has_private_database: bool = False
    """Whether the database is in memory and only for one release, which becomes files. Such a release gets no
    membership and no hashes of its tables: these are compared with the written files value by value.
    """
    search: TimedSearch | None = None
    """If set, algorithms improve classes until its time limit."""
    on_progress: OnProgress | None = None
    """A callback for the progress of searches, random forests and comparisons."""
    n_compared: int = 0
    """The number of finished parts of the running comparison; DuckDB runs them in any order."""
    quasi_counts: Sequence[int] = ()
    """Numbers of quasi-identifiers of the comparison that was planned last."""
    on_review: Callable[[list[str]], None] | None = None
    """A callback that receives, before the first release of a name, lines that say what it will publish."""

    def cursor(self) -> Any:
        """Return a new cursor of the connection with DuckDB's own functions only; it sees committed state only.

        Raises:
            RuntimeError: The connection is closed.
        """
        connection = self.connection()
        if connection is None:
            raise RuntimeError("the connection of this statement is closed")
        return builtin_cursor(connection)


def builtin_cursor(connection: Any) -> Any:
    """Return a new cursor of a connection, with the search path `system.main`; the connection keeps its own.

    Function names on it mean DuckDB's own functions, whatever macros the databases define.
    """
    cursor = plain_connection(connection).cursor()
    cursor.execute("SET search_path = 'system.main'")
    return cursor


@contextlib.contextmanager
def transaction(cursor: Any) -> Iterator[None]:
    """Run the block in a transaction that is committed at its end, or rolled back if an error occurs."""
    cursor.execute("BEGIN")
    try:
        yield
        cursor.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(Exception):  # a failed COMMIT has ended the transaction
            cursor.execute("ROLLBACK")
        raise


def plain_connection(connection: Any) -> Any:
    """Return the DuckDB connection of a connection of `dbanon.connect`; another connection is returned unchanged.

    It may lack macros of table functions that no statement has called yet; `raw` has all of them.
    """
    plain = getattr(connection, "duckdb_connection", None)
    return getattr(connection, "raw", connection) if plain is None else plain


_SESSIONS: dict[str, Session] = {}
_TOKENS = itertools.count(1)


def start_session(connection: Any, cache: LabelCache) -> Session:
    """Register and return a new session of a connection; it is removed when the connection object is deleted.

    Args:
        connection: The DuckDB connection, of which only a weak reference is stored.
        cache: The cluster labels of the connection's database instance.
    """
    token = f"s{next(_TOKENS)}"
    session = Session(token, weakref.ref(connection, lambda _: _SESSIONS.pop(token, None)), cache)
    _SESSIONS[token] = session
    return session


def session_by_token(token: str) -> Session:
    """Return the session that a token identifies.

    Raises:
        RuntimeError: There is no such session.
    """
    if token not in _SESSIONS:
        raise RuntimeError("this connection is not attached; call dbanon.attach(connection)")
    return _SESSIONS[token]


on_unknown_connection: list[Callable[[Any], bool]] = []
"""Functions that attach a connection if another one to the same database instance is attached (`udf.install`).

They return whether they did.
"""


def has_session(connection: Any) -> bool:
    """Return whether a connection is attached: whether a session has this very object."""
    return _session_of(connection) is not None


def find_session(connection: Any) -> Session:
    """Return the session of a connection; a cursor of an attached connection is attached first.

    Raises:
        ConnectionNotAttachedError: The connection is not attached, and no cursor of an attached one.
    """
    session = _session_of(connection)
    if session is None and any(attach(connection) for attach in on_unknown_connection):
        session = _session_of(connection)
    if session is None:
        raise errors.ConnectionNotAttachedError(f"a {type(connection).__name__}")
    return session


def _session_of(connection: Any) -> Session | None:
    """Return the first session whose connection is this very object; None if there is none."""
    return next((session for session in list(_SESSIONS.values()) if session.connection() is connection), None)
