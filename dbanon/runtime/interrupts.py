"""Count Ctrl-C, and check during long computations whether it was pressed."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from dbanon.runtime.session import Session, TimedSearch

_n_ctrl_c = 0


def watch_ctrl_c() -> None:
    """Install a SIGINT handler that counts Ctrl-C and then calls the previous handler.

    Python delivers signals to the main thread, which waits inside DuckDB while a worker thread may run the UDF; the
    UDF polls the counter. Only the main thread can set a handler: on another thread this does nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    previous_handler = signal.getsignal(signal.SIGINT)
    if not callable(previous_handler) or isinstance(previous_handler, _CountingHandler):
        return
    with contextlib.suppress(ValueError):  # a sub-interpreter may not set handlers
        signal.signal(signal.SIGINT, _CountingHandler(previous_handler))


def ctrl_c_count() -> int:
    """Return how often Ctrl-C was pressed since `watch_ctrl_c` was called."""
    return _n_ctrl_c


class _CountingHandler:
    """A SIGINT handler that counts and then calls the previous handler."""

    def __init__(self, previous: Callable[[int, FrameType | None], object]) -> None:
        self.previous = previous

    def __call__(self, number: int, frame: FrameType | None) -> None:
        global _n_ctrl_c
        _n_ctrl_c += 1
        self.previous(number, frame)


@contextlib.contextmanager
def timed_search(session: Session, seconds: float) -> Iterator[TimedSearch]:
    """Give the searches of algorithms a time limit while the session's statements in the block run; yield the search.

    On the main thread, Ctrl-C ends only the search, whose best result so far counts; on other threads, the signal
    handler is unchanged.
    """
    session.search = TimedSearch(seconds, _n_ctrl_c)
    previous_handler = None
    if threading.current_thread() is threading.main_thread():
        previous_handler = signal.signal(signal.SIGINT, _CountingHandler(lambda number, frame: None))
    try:
        yield session.search
    finally:
        session.search = None
        if previous_handler is not None:
            signal.signal(signal.SIGINT, previous_handler)


@contextlib.contextmanager
def interrupt_check(session: Session | None, make_error: Callable[[], Exception]) -> Iterator[Callable[[], None]]:
    """Yield a function that raises `make_error()` if Ctrl-C was pressed or the session was interrupted since the start.

    Within a `timed_search`, the start is that of the search.
    """
    n_ctrl_c_before, n_interrupts_before = _n_ctrl_c, session.interrupts if session else 0
    if session is not None and session.search is not None:
        n_ctrl_c_before = session.search.ctrl_c_count

    def check() -> None:
        if _n_ctrl_c != n_ctrl_c_before or (session is not None and session.interrupts != n_interrupts_before):
            raise make_error()

    yield check
