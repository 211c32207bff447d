"""How far a statement has come, as a bar below the cell that runs it."""

import sys
import time
from importlib import import_module
from typing import Any

WAIT = 0.5
"""Seconds before there is a bar: what is done sooner needs none."""

EVERY = 0.1
"""Least seconds between two pictures."""


class ProgressBar:
    """`progress=` of `dbanon.connect` and `dbanon.anonymize` in a notebook: a bar, which goes when the cell ends.

    It is called while a statement runs, from whatever thread does. Outside of IPython it shows nothing.
    """

    def __init__(self) -> None:
        self._began = self._drawn = 0.0
        self._handle: Any = None
        self._shell: Any = None

    def __call__(self, done: float, gone: float) -> None:
        now = time.monotonic()
        if not self._began:
            self._begin(now)
        if self._shell is None or now - self._began < WAIT or now - self._drawn < EVERY:
            return
        self._drawn = now
        if self._handle is None:
            self._handle = import_module("IPython.display").DisplayHandle()
            self._handle.display(_picture(done, gone), raw=True)
        else:
            self._handle.update(_picture(done, gone), raw=True)

    def end(self, *_: object) -> None:
        """Take the bar away."""
        handle, shell = self._handle, self._shell
        self._began, self._handle, self._shell = 0.0, None, None
        if shell is not None:
            shell.events.unregister("post_run_cell", self.end)
        if handle is not None:
            handle.update({"text/plain": ""}, raw=True)

    def _begin(self, now: float) -> None:
        ipython = sys.modules.get("IPython")
        self._began, self._shell = now, ipython.get_ipython() if ipython else None
        if self._shell is not None:
            self._shell.events.register("post_run_cell", self.end)


def _picture(done: float, gone: float) -> dict[str, str]:
    share = min(max(done, 0.0), 1.0)
    said = f"{share:.0%} done" + (f", {gone:.1%} of the loss gone" if gone > 0 else "")
    return {"text/plain": said, "text/html": f'<progress value="{share:.3f}" max="1"></progress> {said}'}
