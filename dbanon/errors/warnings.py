"""Warnings of the package, and how they are issued."""

import sys
import warnings
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


class DisclosureWarning(UserWarning):
    """Releases that can be held against each other: see composition() and delta_problems()."""


class UtilityWarning(UserWarning):
    """A release that is valid and tells nothing: all records are in one class."""


class PolicyWarning(UserWarning):
    """Policy rows that match no table, in a database whose tables are anonymized without a policy."""


def warn(message: str, kind: type[Warning]) -> None:
    """Warn at the line that called the package, from Python or by a statement."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and Path(frame.f_code.co_filename).is_relative_to(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, kind, stacklevel=level)


class PersonSpellingsWarning(UserWarning):
    """Ids of persons that differ only by blanks, case or leading zeros, and count as different people."""
