"""Generalization hierarchies as objects, and the ARX text format.

A hierarchy is stored as rows (name, node, parent, label, position) in `dbanon.hierarchy`. The ARX format has one line
per leaf, `value;level1;...;*`, from the leaf to the root. Rows may have different lengths; a label repeated on the next
level is the same node; equal labels under different parents are two nodes.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.sqltext import resources


@dataclass(frozen=True)
class StoredHierarchy:
    """The name of a hierarchy in `database.dbanon.hierarchy`; its rows are read when the query runs."""

    database: str
    name: str


@dataclass(frozen=True)
class InlineHierarchy:
    """A hierarchy that is part of the plan, not stored: the path of labels from the root to each leaf, in order."""

    name: str
    paths: tuple[tuple[str, ...], ...]


Hierarchy = StoredHierarchy | InlineHierarchy


def parse_arx(name: str, text: str) -> InlineHierarchy:
    r"""Return the hierarchy of an ARX text; empty lines are ignored. `name` is its name.

    Raises:
        MalformedHierarchyError: The text is not a CSV file with semicolons, or not a tree.

    >>> parse_arx('sex', 'M;*\nF;*').paths
    (('*', 'M'), ('*', 'F'))
    """
    try:
        rows = [row for row in csv.reader(io.StringIO(text), delimiter=";", strict=True) if row]
    except csv.Error as error:
        raise errors.MalformedHierarchyError(
            name, f"not a CSV file separated by semicolons ({error}).", is_stored=False
        ) from None
    return hierarchy_from_rows(name, rows)


def hierarchy_from_rows(name: str, rows: Iterable[Sequence[str]]) -> InlineHierarchy:
    """Return the hierarchy of rows of labels, each from the leaf to the root.

    Numbers become text. A label that is repeated on the next level counts once, and empty labels at the end are
    removed.

    Raises:
        MalformedHierarchyError: The rows are not lists of texts and numbers, not one tree, or none; a label is empty;
            or two inner nodes would be published under one name.
    """

    def malformed(why: str) -> errors.DbanonError:
        """Return the error with a reason."""
        return errors.MalformedHierarchyError(name, why, is_stored=False)

    if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
        raise malformed("it is not a list of rows, each a list of labels from the leaf to the root.")
    paths: list[tuple[str, ...]] = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or any(not _is_label(x) for x in row):
            raise malformed(f"row {number} is not a list of labels from the leaf to the root.")
        labels = _without_repeats([str(label) for label in row])
        if not labels or any(not label for label in labels):
            raise malformed(f"row {number} has an empty label.")
        paths.append(tuple(reversed(labels)))
    if not paths:
        raise malformed("it has no rows.")
    roots = {path[0] for path in paths}
    if len(roots) != 1:
        raise malformed(f"it has {len(roots)} roots; the last field of every row must be the same, usually *.")
    if len({path[-1] for path in paths}) < len(paths):
        raise malformed("a leaf occurs in more than one row.")
    inner = {path[:depth] for path in paths for depth in range(1, len(path))}
    for number, path in enumerate(paths, 1):
        if path in inner:
            raise malformed(f"the value of row {number} is an inner node of other rows.")
    label_counts = Counter(path[-1] for path in inner)
    published_names = {
        " > ".join(path[1:]) if label_counts[path[-1]] > 1 and len(path) > 1 else path[-1] for path in inner
    }
    if len(published_names) < len(inner):
        raise malformed("two inner nodes would be published under one name.")
    return InlineHierarchy(name, tuple(paths))


def _is_label(value: object) -> bool:
    """Return whether a value can be a label: a text or a number, but no boolean."""
    return isinstance(value, (str, int, float)) and not isinstance(value, bool)


def _without_repeats(row: Sequence[str]) -> list[str]:
    """Return the labels of a row without empty ones at the end and without repetitions of the label before."""
    labels = list(row)
    while len(labels) > 1 and not labels[-1]:
        labels.pop()
    return [label for i, label in enumerate(labels) if i == 0 or label != labels[i - 1]]


def shipped_hierarchy(name: str) -> InlineHierarchy | None:
    """Return the hierarchy of this name that comes with dbanon; None if there is none."""
    if name not in resources.shipped_hierarchies():
        return None
    return parse_arx(name, (resources.folder("hierarchies") / f"{name}.csv").read_text(encoding="utf-8-sig"))
