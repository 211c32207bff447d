"""Warnings of the package, and a function that issues them."""

import sys
import warnings
from pathlib import Path

_PACKAGE = Path(__file__).parents[1]


class DisclosureWarning(UserWarning):
    """Releases whose comparison could reveal more than each of them: see composition() and refresh_problems()."""


class UtilityWarning(UserWarning):
    """A valid release without information: all records are in one class."""


class PolicyWarning(UserWarning):
    """Policy rows that match no table, in a database whose tables are anonymized without a policy."""


class UnrecordedFileWarning(UserWarning):
    """Published files that published_files() does not list, because the database is read-only."""


def warn(message: str, category: type[Warning]) -> None:
    """Issue a warning whose location is the line outside this package that called it, from Python or by a statement."""
    frame, level = sys._getframe(), 1
    while frame.f_back is not None and Path(frame.f_code.co_filename).is_relative_to(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


class PersonSpellingsWarning(UserWarning):
    """Person ids that differ only by blanks, case or leading zeros, and count as different people."""
