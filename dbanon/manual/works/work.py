"""What one entry of the bibliography is."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Work:
    """A paper, a standard, a data set or a tool.

    cited: how code, SQL and documentation name it, which is the heading of its entry: authors and year, or the number
    of a standard. also: another name by which it is cited. doi: where it is known for certain.
    """

    cited: str
    authors: str
    title: str
    venue: str
    doi: str = ""
    also: str = ""
    note: str = ""

    @property
    def names(self) -> tuple[str, ...]:
        """All names by which it is cited."""
        return (self.cited, self.also) if self.also else (self.cited,)

    @property
    def anchor(self) -> str:
        """The anchor of its entry, as of any heading: lower case, no punctuation, dashes for blanks.

        >>> Work("Lin and Wei 2008", "Lin, J.-L. and Wei, M.-C.", "An efficient clustering method", "PAIS").anchor
        'lin-and-wei-2008'
        """
        return re.sub(r"[^\w\- ]", "", self.cited.lower()).replace(" ", "-")
