"""What belongs to one attached connection, and to the database instance behind it: connections, cache, interrupts.

DuckDB calls UDFs by name with values only, so a token in the macros tells them whose call it is. Nothing here keeps a
database open: connections are weakly referenced and closing one ends its session.
"""

from __future__ import annotations

import contextlib
import itertools
import signal
import threading
import weakref
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

CACHE_BYTES = 256 * 2**20
"""Most bytes of cluster labels that an instance keeps."""

Labels = Any
"""Clusters of records: runs, or an array; something with `nbytes`."""


class LabelCache:
    """Cluster labels by a hash of everything they follow from; least recently used go first.

    Two callers that ask for the same labels at once compute them once. Errors are not kept.
    """

    def __init__(self, limit: int = CACHE_BYTES) -> None:
        self.limit = limit
        self.calls = 0
        self._labels: OrderedDict[bytes, Labels] = OrderedDict()
        self._lock = threading.Lock()
        self._running: dict[bytes, threading.Lock] = {}

    def get(self, key: bytes, compute: Callable[[], Labels]) -> Labels:
        """The labels of a key, computed if they are not kept."""
        with self._lock:
            if key in self._labels:
                self._labels.move_to_end(key)
                return self._labels[key]
            flight = self._running.setdefault(key, threading.Lock())
        with flight:
            with self._lock:
                if key in self._labels:
                    return self._labels[key]
                self.calls += 1
            try:
                labels = compute()
            except BaseException:
                with self._lock:
                    self._running.pop(key, None)
                raise
            with self._lock:
                self._running.pop(key, None)
                self._labels[key] = labels
                while sum(a.nbytes for a in self._labels.values()) > self.limit and self._labels:
                    self._labels.popitem(last=False)
            return labels

    def put(self, key: bytes, labels: Labels) -> None:
        """Keeps labels that were computed elsewhere."""
        with self._lock:
            self._labels[key] = labels

    def clear(self) -> None:
        """Forgets all labels."""
        with self._lock:
            self._labels.clear()


Told = Callable[[float, float], None]
"""Called with the share of the work that is done (of a search: of its time or moves) and, of a search, the share of the
loss that it began with that is gone."""


@dataclass
class Search:
    """A search that goes on for a time; `pressed` counts Ctrl-C when it began, `moves` is what it did."""

    seconds: float
    pressed: int
    moves: int = 0


@dataclass
class Session:
    """One attached connection."""

    token: str
    connection: weakref.ref[Any]
    cache: LabelCache
    interrupts: int = 0
    views: Mapping[str, str] = field(default_factory=dict)
    """Statements of temporary views by folded name, where the connection keeps track of them."""
    local: dict[str, Mapping[str, str]] = field(default_factory=dict)
    """Columns of temporary relations by folded name, where the connection keeps track of them."""
    scans: Mapping[str, Any] = field(default_factory=dict)
    """What temporary relations that are sources read (`source.bound_scans`), by folded name, where it is known."""
    own_macros: Callable[[], Mapping[str, str]] = dict
    """Gives the MD5 hashes of the definitions of dbanon's table functions on a connection, by name."""
    policies: Mapping[str, Any] = field(default_factory=dict)
    """Policies of temporary tables (`stored_policy.TemporaryPolicy`), by folded name, where the caller knows them."""
    recorded: list[Mapping[str, Any]] | None = None
    """Where it is a list, calls are noted in it instead of being planned."""
    explained: list[tuple[str, str]] | None = None
    """Where it is a list, functions that are called are noted in it with the statements that answer them."""
    released: list[tuple[Sequence[str], Sequence[str]]] | None = None
    """Where it is a list, the columns of each release that is planned are noted in it, and its quasi-identifiers."""
    search: Search | None = None
    """Where there is one, classes are improved for its time."""
    told: Told | None = None
    """What is told how far a search or a forest has come."""
    compared: int = 0
    """Parts of the comparison that runs which are done, in whatever order DuckDB takes them."""
    widths: Sequence[int] = ()
    """Numbers of quasi-identifiers of the comparison that was planned last."""
    reviewed: Callable[[list[str]], None] | None = None
    """What is told, in lines of text, what the first release of a name will publish, before it does."""

    def cursor(self) -> Any:
        """A cursor of the planner's own; it sees committed state only."""
        connection = self.connection()
        if connection is None:
            raise RuntimeError("the connection of this statement is closed")
        return own_cursor(connection)


def own_cursor(connection: Any) -> Any:
    """A cursor of the connection's instance on which functions are DuckDB's own, whatever macros databases hold."""
    cursor = connection.cursor()
    cursor.execute("SET search_path = 'system.main'")
    return cursor


_SESSIONS: dict[str, Session] = {}
_TOKENS = itertools.count(1)


def begin(connection: Any, cache: LabelCache) -> Session:
    """A new session of a connection; it ends with the connection object."""
    token = f"s{next(_TOKENS)}"
    session = Session(token, weakref.ref(connection, lambda _: _SESSIONS.pop(token, None)), cache)
    _SESSIONS[token] = session
    return session


def get(token: str) -> Session:
    """The session of a token."""
    if token not in _SESSIONS:
        raise RuntimeError("this connection is not attached; call dbanon.attach(connection)")
    return _SESSIONS[token]


def of_connection(connection: Any) -> Session:
    """The session of a connection; KeyError if it is not attached."""
    for session in list(_SESSIONS.values()):
        if session.connection() is connection:
            return session
    raise KeyError(connection)


# --- interrupts ------------------------------------------------------------------------------------------

_ctrl_c = 0


def watch_ctrl_c() -> None:
    """Makes Ctrl-C visible to a running UDF, whichever thread it is on, and then does what it did before.

    Python delivers signals to the main thread, which waits inside DuckDB while a worker thread may run the UDF; the
    UDF polls the count that this handler raises. Only the main thread can set a handler: elsewhere nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before) or isinstance(before, _Handler):
        return
    with contextlib.suppress(ValueError):  # a sub-interpreter may not set handlers
        signal.signal(signal.SIGINT, _Handler(before))


def ctrl_c_count() -> int:
    """How often Ctrl-C was pressed since it is watched."""
    return _ctrl_c


class _Handler:
    """Counts, then calls the handler that was there."""

    def __init__(self, before: Callable[[int, FrameType | None], object]) -> None:
        self.before = before

    def __call__(self, number: int, frame: FrameType | None) -> None:
        global _ctrl_c
        _ctrl_c += 1
        self.before(number, frame)


@contextlib.contextmanager
def searching(session: Session, seconds: float) -> Iterator[Search]:
    """Statements of the session search for a time. Ctrl-C ends the search and nothing else, where this is the main
    thread: elsewhere Python has its own way with signals."""
    session.search = Search(seconds, _ctrl_c)
    before = None
    if threading.current_thread() is threading.main_thread():
        before = signal.signal(signal.SIGINT, _Handler(lambda number, frame: None))
    try:
        yield session.search
    finally:
        session.search = None
        if before is not None:
            signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def telling(session: Session, told: Told | None) -> Iterator[None]:
    """Searches of the session say how far they have come."""
    before, session.told = session.told, told or session.told
    try:
        yield
    finally:
        session.told = before


@contextlib.contextmanager
def interruptible(session: Session | None, stop: Callable[[], Exception]) -> Iterator[Callable[[], None]]:
    """A check that raises `stop()` once Ctrl-C was pressed or the session was interrupted after this began, or the
    search that it is part of."""
    pressed, asked = _ctrl_c, session.interrupts if session else 0
    if session is not None and session.search is not None:
        pressed = session.search.pressed

    def check() -> None:
        if _ctrl_c != pressed or (session is not None and session.interrupts != asked):
            raise stop()

    yield check


def stepped(session: Session, check: Callable[[], None], steps: int) -> Callable[[], None]:
    """The check of work that calls it before each of so many steps; says how far the work has come."""
    done = itertools.count()

    def step() -> None:
        check()
        if session.told is not None:
            session.told(next(done) / steps, 0.0)

    return step


# --- compilation -----------------------------------------------------------------------------------------

_HEARING: list[Callable[[str], None]] = []
"""Kernels are compiled once for all of the process, so this is no matter of one session."""


@contextlib.contextmanager
def compiling(told: Callable[[str], None]) -> Iterator[None]:
    """Within, `told` is called with the name of every kernel that is compiled, on the thread that compiles it. What the
    disk has is not compiled."""
    _HEARING.append(told)
    try:
        yield
    finally:
        _HEARING.remove(told)


def compiles(kernel: str) -> None:
    """Tells those who listen that a kernel is compiled."""
    for told in list(_HEARING):
        told(kernel)
