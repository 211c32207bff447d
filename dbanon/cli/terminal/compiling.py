"""The message and the progress bar while kernels are compiled, which makes the first call slow."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

COMPILING_MESSAGE = "Compiling the algorithm, once after installation (dbanon warmup compiles all)."

BAR_WIDTH = 20


def compiling_text(n_kernels: int) -> str:
    """Return how many kernels have been compiled or are being compiled, for a line of progress; "" for none.

    >>> compiling_text(3)
    'compiling (3 kernels)'
    """
    return f"compiling ({n_kernels} kernel{'' if n_kernels == 1 else 's'})" if n_kernels else ""


def statement_progress(console: Console) -> Progress:
    """Return a line with a bar and a text, which is drawn only when it is updated, and erased at the end."""
    from rich.progress import BarColumn, Progress, TextColumn  # slow to import

    return Progress(
        BarColumn(BAR_WIDTH), TextColumn("{task.description}"), console=console, auto_refresh=False, transient=True,
        redirect_stdout=False, redirect_stderr=False,
    )  # fmt: skip


IDLE_S = 10.0
"""Seconds without a new kernel after which a server erases the bar."""


class ServerCompilation:
    """A notice that kernels are being compiled, for a server, which does not know when a statement has ended.

    The message is written once, on any output; the bar only on a terminal, until no kernel was reported for IDLE_S.
    """

    def __init__(self, console: Console) -> None:
        """Store the output."""
        self._console = console
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._timer: threading.Timer | None = None
        self._n_kernels = 0

    def report(self, kernel: str) -> None:
        """Show that one more kernel is being compiled."""
        from rich.progress import BarColumn, Progress, TextColumn

        with self._lock:
            if not self._n_kernels:
                self._console.print(COMPILING_MESSAGE, soft_wrap=True)
            self._n_kernels += 1
            if not self._console.is_terminal:
                return
            if self._bar is None:
                self._bar = Progress(
                    BarColumn(BAR_WIDTH), TextColumn("{task.description}"), console=self._console, transient=True
                )
                self._bar.add_task("", total=None)
                self._bar.start()
            self._bar.update(self._bar.task_ids[0], description=compiling_text(self._n_kernels))
            if self._timer is not None:
                self._timer.cancel()
            self._timer = threading.Timer(IDLE_S, self.close)
            self._timer.daemon = True
            self._timer.start()

    def close(self) -> None:
        """Erase the bar."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            if self._bar is not None:
                self._bar.stop()
            self._bar = self._timer = None
