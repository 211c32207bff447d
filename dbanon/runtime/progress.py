"""Report the progress of long computations in a session."""

import contextlib
import itertools
from collections.abc import Callable, Iterator

from dbanon.runtime.session import OnProgress, Session


@contextlib.contextmanager
def report_progress(session: Session, on_progress: OnProgress | None) -> Iterator[None]:
    """Make `on_progress` the progress callback of the session while the block runs; then restore the previous one.

    None keeps the callback that is already set.
    """
    previous, session.on_progress = session.on_progress, on_progress or session.on_progress
    try:
        yield
    finally:
        session.on_progress = previous


def progress_steps(session: Session, check: Callable[[], None], n_steps: int) -> Callable[[], None]:
    """Return a function to call before each of `n_steps` steps: it runs `check`, then reports the share of steps done.

    The session's callback, if any, gets this fraction (0 at the first call) and 0.0 for the removed share of the loss.
    An error that `check` raises, such as an interrupt, passes to the caller.
    """
    steps_done = itertools.count()

    def step() -> None:
        """Run `check`, then report the share of steps that are done to the session's callback, if it has one."""
        check()
        if session.on_progress is not None:
            session.on_progress(next(steps_done) / n_steps, 0.0)

    return step
