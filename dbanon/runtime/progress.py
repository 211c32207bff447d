"""Report the progress of long computations in a session."""

import contextlib
import itertools
from collections.abc import Callable, Iterator

from dbanon.runtime.session import OnProgress, Session


@contextlib.contextmanager
def report_progress(session: Session, on_progress: OnProgress | None) -> Iterator[None]:
    """Call `on_progress` (None: the callback set before) with the progress of the session while the block runs."""
    previous, session.on_progress = session.on_progress, on_progress or session.on_progress
    try:
        yield
    finally:
        session.on_progress = previous


def progress_steps(session: Session, check: Callable[[], None], n_steps: int) -> Callable[[], None]:
    """Return a function to call before each of `n_steps`: it runs `check` and reports the progress."""
    steps_done = itertools.count()

    def step() -> None:
        check()
        if session.on_progress is not None:
            session.on_progress(next(steps_done) / n_steps, 0.0)

    return step
