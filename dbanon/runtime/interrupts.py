"""Ctrl-C, and checks by which running functions end when it was pressed."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from dbanon.runtime.session import Search, Session

_ctrl_c = 0


def watch_ctrl_c() -> None:
    """Make Ctrl-C visible to a running UDF, whichever thread it is on, and then does what it did before.

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
def timed_search(session: Session, seconds: float) -> Iterator[Search]:
    """Return statements of the session search for a time.

    Ctrl-C ends the search and nothing else, where this is the main thread: elsewhere Python has its own way with
    signals.
    """
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
def interruptible(session: Session | None, stop: Callable[[], Exception]) -> Iterator[Callable[[], None]]:
    """A check that raises `stop()` once Ctrl-C was pressed or the session was interrupted after this began, or the
    search that it is part of."""
    pressed, asked = _ctrl_c, session.interrupts if session else 0
    if session is not None and session.search is not None:
        pressed = session.search.ctrl_c_count

    def check() -> None:
        if _ctrl_c != pressed or (session is not None and session.interrupts != asked):
            raise stop()

    yield check
