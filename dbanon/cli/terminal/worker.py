"""Run long work in a thread, while the main thread waits for Ctrl-C and reports the running time."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TypeVar

T = TypeVar("T")


class Worker:
    """One thread that runs work for the main thread, which waits for it.

    `interrupt` is called to stop the work after Ctrl-C. `tick` receives the running time in seconds about ten times per
    second, and None when the work is complete.
    """

    def __init__(self, interrupt: Callable[[], None], tick: Callable[[float | None], None]) -> None:
        """Store the callbacks and prepare the thread, which starts with the first work."""
        self._interrupt = interrupt
        self._tick = tick
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dbanon-shell")

    def run(self, work: Callable[[], T]) -> T:
        """Run `work` in the thread and return its result, or raise its error.

        Raises:
            KeyboardInterrupt: Ctrl-C was pressed, and the work ended with an error.
        """
        started = time.monotonic()
        with _record_ctrl_c() as pressed:
            future = self._pool.submit(work)
            while not wait([future], timeout=0.1).done:
                if pressed.is_set():
                    self._interrupt()  # again and again: the work may just be between two steps
                self._tick(time.monotonic() - started)
            self._tick(None)
        if pressed.is_set() and future.exception() is not None:
            raise KeyboardInterrupt
        return future.result()

    def close(self) -> None:
        """End the thread, after the work that runs in it."""
        self._pool.shutdown()


@contextlib.contextmanager
def _record_ctrl_c() -> Iterator[threading.Event]:
    """Yield an event that Ctrl-C sets during the block, instead of raising KeyboardInterrupt.

    Outside of the main thread nothing is changed, and the event is never set.
    """
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return
    previous_handler = signal.signal(signal.SIGINT, lambda *_: pressed.set())
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, previous_handler)
