"""Generalization hierarchies as objects, and the ARX text format.

A hierarchy is stored as rows (name, node, parent, label, position) in `dbanon.hierarchy`. The ARX format has one line
per leaf, `value;level1;...;*`, from the leaf to the root. Rows may have different lengths; a label repeated on the next
level is the same node; equal labels under different parents are two nodes.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dbanon import errors
from dbanon.policy.hierarchies import arx_text
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
    r"""Return the hierarchy of a text in the ARX format. `name` is its name.

    Empty lines, lines that repeat another one, and a first line of column names are ignored. Where the text is no
    hierarchy separated by semicolons, but one separated by commas or by tabs, it is read as that.

    Raises:
        MalformedHierarchyError: The text is not a CSV file, or not a tree.

    >>> parse_arx('sex', 'M;*\nF;*').paths
    (('*', 'M'), ('*', 'F'))
    >>> parse_arx('sex', 'value,level1\nM,*\nF,*').paths
    (('*', 'M'), ('*', 'F'))
    """
    hierarchies, failures = {}, {}
    for separator in arx_text.SEPARATORS:
        try:
            lines = arx_text.without_header(arx_text.read_lines(text, separator))
            hierarchy = _hierarchy_from_lines(name, lines)
        except (arx_text.UnreadableLineError, _MalformedRowsError) as error:
            failures[separator] = str(error)
            continue
        is_split = all(len(line.labels) > 1 for line in lines)
        if separator == ";" and is_split:
            return hierarchy
        if separator == ";" or is_split:
            hierarchies[separator] = hierarchy
    others = [separator for separator in hierarchies if separator != ";"]
    if len(others) > 1:
        raise errors.MalformedHierarchyError(
            name, "line 1 has commas and tabs, and both could separate labels. Use semicolons.", is_stored=False
        )
    if hierarchies:
        return hierarchies[others[0] if others else ";"]
    raise errors.MalformedHierarchyError(name, failures[_probable_separator(text)], is_stored=False)


def _probable_separator(text: str) -> str:
    """Return the separator that occurs in most lines of a text that is no hierarchy; the semicolon if several do."""
    lines = text.splitlines()
    return max(arx_text.SEPARATORS, key=lambda separator: sum(separator in line for line in lines))


class _MalformedRowsError(ValueError):
    """Rows that are not a hierarchy; the message is the reason, a sentence."""


def hierarchy_from_rows(name: str, rows: Iterable[Sequence[str]]) -> InlineHierarchy:
    """Return the hierarchy of rows of labels, each from the leaf to the root.

    Numbers become text. A label that is repeated on the next level counts once, empty labels at the end are removed,
    and equal rows count once.

    Raises:
        MalformedHierarchyError: The rows are not lists of texts and numbers, not one tree, or none; a label is empty;
            or two inner nodes would be published under one name.
    """
    try:
        if isinstance(rows, (str, bytes)) or not isinstance(rows, Iterable):
            raise _MalformedRowsError("it is not a list of rows, each a list of labels from the leaf to the root.")
        lines = []
        for number, row in enumerate(rows, 1):
            if isinstance(row, (str, bytes)) or not isinstance(row, Sequence) or any(not _is_label(x) for x in row):
                raise _MalformedRowsError(f"row {number} is not a list of labels from the leaf to the root.")
            lines.append(arx_text.HierarchyLine(number, tuple(str(label) for label in row)))
        return _hierarchy_from_lines(name, lines, "row")
    except _MalformedRowsError as error:
        raise errors.MalformedHierarchyError(name, str(error), is_stored=False) from None


def _hierarchy_from_lines(name: str, lines: Sequence[arx_text.HierarchyLine], unit: str = "line") -> InlineHierarchy:
    """Return the hierarchy of numbered rows of labels, each from the leaf to the root. Equal rows count once.

    Args:
        name: The name of the hierarchy.
        lines: The rows.
        unit: What the numbers count, for messages: "line" or "row".

    Raises:
        _MalformedRowsError: The rows are not one tree, or a name is not unique; the message names a line.
    """
    number_by_path: dict[tuple[str, ...], int] = {}
    for line in lines:
        labels = _without_repeats(line.labels)
        if labels[:1] == [""] and any(labels):
            raise _MalformedRowsError(
                f"{unit} {line.number} has an empty value. Delete it: NULL needs no {unit}, and missing_codes = [''] "
                "reads empty texts as NULL."
            )
        if not labels or any(not label for label in labels):
            raise _MalformedRowsError(f"{unit} {line.number} has an empty label.")
        number_by_path.setdefault(tuple(reversed(labels)), line.number)
    if not number_by_path:
        raise _MalformedRowsError(f"it has no {unit}s.")
    paths = tuple(number_by_path)
    _check_roots(number_by_path, unit)
    number_by_leaf: dict[str, int] = {}
    for path, number in number_by_path.items():
        other = number_by_leaf.setdefault(path[-1], number)
        if other != number:
            raise _MalformedRowsError(f"{unit}s {other} and {number} have the same leaf, but other labels.")
    inner = {path[:depth]: number for path, number in number_by_path.items() for depth in range(1, len(path))}
    for path, number in number_by_path.items():
        if path in inner:
            raise _MalformedRowsError(
                f"the value of {unit} {number} is an inner node of {unit} {inner[path]}. Repeat the value in "
                f"{unit} {number} under a label of its own."
            )
    label_counts = Counter(path[-1] for path in inner)
    number_by_name: dict[str, int] = {}
    for path, number in inner.items():
        published = " > ".join(path[1:]) if label_counts[path[-1]] > 1 and len(path) > 1 else path[-1]
        if published in number_by_name:
            raise _MalformedRowsError(
                f"two inner nodes would be published under one name ({unit}s {number_by_name[published]} and {number})."
            )
        number_by_name[published] = number
    return InlineHierarchy(name, paths)


def _check_roots(number_by_path: dict[tuple[str, ...], int], unit: str) -> None:
    """Check that all paths have the same root.

    Raises:
        _MalformedRowsError: They have not; the message names the first line with a root that most lines do not have.
    """
    counts = Counter(path[0] for path in number_by_path)
    if len(counts) > 1:
        (root, _), *_ = counts.most_common()
        number = next(number for path, number in number_by_path.items() if path[0] != root)
        header = ", unless it is a header: then delete it" if number == 1 and unit == "line" else ""
        raise _MalformedRowsError(
            f"it has {len(counts)} roots, one of them in {unit} {number}; the last field of every {unit} must be the "
            f"same, usually *{header}."
        )


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
