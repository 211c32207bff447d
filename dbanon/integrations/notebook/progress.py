"""A progress bar below the cell that runs a statement."""

import sys
import time
from importlib import import_module
from typing import Any

DISPLAY_AFTER_S = 0.5
"""Seconds before the bar is shown: a shorter statement needs none."""

UPDATE_INTERVAL_S = 0.1
"""The least seconds between two updates of the bar."""


class ProgressBar:
    """A progress bar for `progress=` of `dbanon.connect` and `dbanon.anonymize` in a notebook.

    It is called by any thread while a statement runs, and removed when the cell ends. Outside of IPython it shows
    nothing.
    """

    def __init__(self) -> None:
        self._started_at = self._updated_at = 0.0
        self._handle: Any = None
        self._shell: Any = None

    def __call__(self, fraction_done: float, loss_removed: float) -> None:
        """Show which fraction of the statement is complete, and which fraction of the loss has been removed."""
        now = time.monotonic()
        if not self._started_at:
            self._begin(now)
        if (
            self._shell is None
            or now - self._started_at < DISPLAY_AFTER_S
            or now - self._updated_at < UPDATE_INTERVAL_S
        ):
            return
        self._updated_at = now
        if self._handle is None:
            self._handle = import_module("IPython.display").DisplayHandle()
            self._handle.display(_bar_formats(fraction_done, loss_removed), raw=True)
        else:
            self._handle.update(_bar_formats(fraction_done, loss_removed), raw=True)

    def end(self, *_: object) -> None:
        """Remove the bar."""
        handle, shell = self._handle, self._shell
        self._started_at, self._handle, self._shell = 0.0, None, None
        if shell is not None:
            shell.events.unregister("post_run_cell", self.end)
        if handle is not None:
            handle.update({"text/plain": ""}, raw=True)

    def _begin(self, now: float) -> None:
        ipython = sys.modules.get("IPython")
        self._started_at, self._shell = now, ipython.get_ipython() if ipython else None
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self.end)


def _bar_formats(fraction_done: float, loss_removed: float) -> dict[str, str]:
    fraction = min(max(fraction_done, 0.0), 1.0)
    caption = f"{fraction:.0%} done" + (f", {loss_removed:.1%} of the loss gone" if loss_removed > 0 else "")
    return {"text/plain": caption, "text/html": f'<progress value="{fraction:.3f}" max="1"></progress> {caption}'}
