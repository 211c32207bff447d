"""Count Ctrl-C, and check during long computations whether it was pressed."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from types import FrameType

from dbanon.runtime.session import Session, TimedSearch

_n_ctrl_c = 0


def watch_ctrl_c() -> None:
    """Install a SIGINT handler that counts presses of Ctrl-C and then calls the previous handler.

    Python delivers signals to the main thread, which is blocked inside DuckDB while a worker thread may run the UDF;
    the UDF polls the counter. Only the main thread can set a handler: on another thread this does nothing. It also does
    nothing if such a handler is already installed, or if the previous handler is not a Python function.
    """
    if threading.current_thread() is not threading.main_thread():
        return
    previous_handler = signal.getsignal(signal.SIGINT)
    if not callable(previous_handler) or isinstance(previous_handler, _CountingHandler):
        return
    with contextlib.suppress(ValueError):  # a sub-interpreter may not set handlers
        signal.signal(signal.SIGINT, _CountingHandler(previous_handler))


def ctrl_c_count() -> int:
    """Return how often the handlers of this module have counted Ctrl-C in this process."""
    return _n_ctrl_c


class _CountingHandler:
    """A SIGINT handler that adds 1 to the counter of this module and then calls the previous handler."""

    def __init__(self, previous: Callable[[int, FrameType | None], object]) -> None:
        """Keep the handler that is called after counting."""
        self.previous = previous

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Count one press of Ctrl-C, then call the previous handler with the same arguments."""
        global _n_ctrl_c
        _n_ctrl_c += 1
        self.previous(number, frame)


@contextlib.contextmanager
def timed_search(session: Session, seconds: float) -> Iterator[TimedSearch]:
    """Set a time limit for the searches of algorithms while the block runs; yield the session's `TimedSearch`.

    When the block ends, also by an error, the session has no time limit again. On the main thread, Ctrl-C during the
    block raises no KeyboardInterrupt: the search ends, and its best result so far is used. The previous handler is
    restored afterwards. On other threads, the signal handler is unchanged.
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
    """Yield a function that raises `make_error()` if Ctrl-C was pressed or the session interrupted since the start.

    Within a `timed_search` of the session, Ctrl-C counts from the beginning of that search. Without a session, only
    Ctrl-C is checked. The function returns None otherwise, and may be called any number of times.
    """
    n_ctrl_c_before, n_interrupts_before = _n_ctrl_c, session.interrupts if session else 0
    if session is not None and session.search is not None:
        n_ctrl_c_before = session.search.ctrl_c_count

    def check() -> None:
        """Raise `make_error()` if Ctrl-C was pressed or the session was interrupted since the counts were read."""
        if _n_ctrl_c != n_ctrl_c_before or (session is not None and session.interrupts != n_interrupts_before):
            raise make_error()

    yield check
