"""Reports of how far long work of a session has come."""

import contextlib
import itertools
from collections.abc import Callable, Iterator

from dbanon.runtime.session import OnProgress, Session


@contextlib.contextmanager
def report_progress(session: Session, on_progress: OnProgress | None) -> Iterator[None]:
    """Report how far the work of the session has come, where somebody asks for it."""
    before, session.on_progress = session.on_progress, on_progress or session.on_progress
    try:
        yield
    finally:
        session.on_progress = before


def progress_steps(session: Session, check: Callable[[], None], steps: int) -> Callable[[], None]:
    """Return a check for work that calls it before each of its `steps`; it reports how far the work has come."""
    done = itertools.count()

    def step() -> None:
        check()
        if session.on_progress is not None:
            session.on_progress(next(done) / steps, 0.0)

    return step
