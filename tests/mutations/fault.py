"""One fault: a text of a file, its replacement, and the tests that notice it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dbanon.sqltext.resources import join_lines

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Fault:
    """A text of a file, its replacement, and test files (or tests) of which one must fail.

    `old` occurs once in its file; a fault that no longer fits the code fails the run. A fault that is `harmless`
    changes nothing that is published; the reason is stated, and no test is run.
    """

    file: str
    old: str
    new: str
    tests: tuple[str, ...] = ()
    harmless: str = ""
    needs: str = ""
    """A module without which the tests are skipped, and the fault with them."""

    def planted(self, text: str) -> str | None:
        """Return the text of the file with the fault, lines of a template joined; None where the fault does not fit."""
        if self.file.endswith(".sql"):
            text = join_lines(text)
        return text.replace(self.old, self.new) if text.count(self.old) == 1 and self.old != self.new else None
