"""Read the lines of a hierarchy file: its separator, line ends, header and the line number of each row."""

import csv
import io
import re
from dataclasses import dataclass

SEPARATORS = {";": "semicolons", ",": "commas", "\t": "tabs"}
"""The separators of hierarchy files, with their names for messages; that of the ARX format is the first."""

_HEADER_WORD = re.compile(r"(?:value|leaf|leaves|level|lvl|generali[sz]ation)s?[ _.-]*\d*", re.IGNORECASE)


class UnreadableLineError(ValueError):
    """A line that is not CSV; its message is a reason, and quotes nothing of the file."""


@dataclass(frozen=True)
class HierarchyLine:
    """One row of a hierarchy file: its labels from the leaf to the root, and the number of its first line."""

    number: int
    labels: tuple[str, ...]


def read_lines(text: str, separator: str) -> list[HierarchyLine]:
    r"""Return the rows of a hierarchy file, without empty lines. Lines may end with \n, \r\n or \r.

    Raises:
        UnreadableLineError: A line is not CSV with this separator.

    >>> read_lines('M,*\r\rF,*', ',')
    [HierarchyLine(number=1, labels=('M', '*')), HierarchyLine(number=3, labels=('F', '*'))]
    """
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    lines, first = [], 1
    try:
        for labels in reader:
            if labels:
                lines.append(HierarchyLine(first, tuple(labels)))
            first = reader.line_num + 1
    except csv.Error as error:
        raise UnreadableLineError(f"line {first} is not CSV separated by {SEPARATORS[separator]} ({error}).") from None
    return lines


def without_header(lines: list[HierarchyLine]) -> list[HierarchyLine]:
    """Return the lines without the first one if that one has names of columns, such as `value;level1;level2`.

    Its labels must not occur in other lines, which must all have the same root. If the first line has the root too, all
    its other labels must be words for columns, and otherwise one of them.
    """
    if len(lines) < 3:
        return lines
    header, rows = lines[0].labels, lines[1:]
    roots = {row.labels[-1] for row in rows}
    labels = {label for row in rows for label in row.labels} - roots
    if len(roots) > 1 or labels.intersection(header):
        return lines
    names = [label for label in header if label not in roots]
    is_numbering = list(header) == [str(column) for column in range(len(header))]
    n_words = sum(_HEADER_WORD.fullmatch(name.strip()) is not None for name in names)
    is_header = is_numbering or (n_words == len(names) > 0 if len(names) < len(header) else n_words > 0)
    return rows if is_header else lines
