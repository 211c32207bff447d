"""Runs what may take long beside the main thread, which waits for Ctrl-C and says how long it has been."""

import contextlib
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from types import FrameType
from typing import TypeVar

T = TypeVar("T")


class Worker:
    """One thread that works for the main one. `interrupt` stops what it is doing; `tick` is told the seconds."""

    def __init__(self, interrupt: Callable[[], None], tick: Callable[[float | None], None]) -> None:
        self._interrupt = interrupt
        self._tick = tick
        self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="dbanon-shell")

    def run(self, work: Callable[[], T]) -> T:
        """What the work gives, or what it raises; KeyboardInterrupt if Ctrl-C kept it from its end."""
        started = time.monotonic()
        with _ctrl_c_noted() as pressed:
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
        """End the thread."""
        self._pool.shutdown()


@contextlib.contextmanager
def _ctrl_c_noted() -> Iterator[threading.Event]:
    """Ctrl-C is noted in an event instead of raised, so that it cannot hit between two lines that belong together."""
    pressed = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield pressed
        return

    def note(number: int, frame: FrameType | None) -> None:
        pressed.set()

    before = signal.signal(signal.SIGINT, note)
    try:
        yield pressed
    finally:
        signal.signal(signal.SIGINT, before)
