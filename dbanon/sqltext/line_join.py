"""Join lines of a statement that people read: what fits into one line is not spread over several."""

from collections.abc import Mapping, Sequence

from dbanon.sqltext.tokenizer import spaced_words

JOINED_WIDTH = 100
"""Joined brackets have at most so many characters, with the rest of their line."""

_OPENING = {"(": ")", "[": "]", "{": "}", "case": "end"}
_CLAUSES = frozenset({"from", "where", "group", "having", "order", "union", "qualify", "limit"})
"""Words that end the list of columns of a SELECT."""


def join_short_lines(statement: str) -> str:
    """Return a statement in which short brackets and CASEs are on one line, and lists of columns are continuous text.

    The columns of a SELECT stay on their lines if one of them is longer than a line, or has a comment. A comma that
    begins an indented line ends the line before it. Only white space changes, and only outside literals and comments.
    The outermost brackets, which are relations of the WITH clause, stay as they are. O(n * depth).
    """
    spaced = spaced_words(statement)
    closings = _closings([word.lower() for _, word in spaced])
    blanks = [blank for blank, _ in spaced]
    column, joined_end = 0, 0
    for i, (_, word) in enumerate(spaced):
        if word == "," and blanks[i].startswith("\n ") and "--" not in blanks[i]:
            blanks[i] = ""
        column = _column_after(blanks[i], column)
        end = closings.get(i)
        if end is not None and i >= joined_end:
            is_list = word.lower() == "select"
            if is_list:
                can_join = _is_simple_list(spaced, i, end, closings)
            else:
                length = _joined_length(spaced, i, end + 1)
                can_join = length is not None and column + length + _rest_length(spaced, blanks, end) <= JOINED_WIDTH
            if can_join:
                joined_end = end if is_list else end + 1
                for k in range(i + 1, joined_end):
                    blanks[k] = _joined_blank(spaced[k - 1][1], blanks[k], spaced[k][1])
        column = _column_after(word, column)
    return "".join(blank + word for blank, (_, word) in zip(blanks, spaced, strict=True))


def _closings(words: Sequence[str]) -> dict[int, int]:
    """Return, for each token that opens a group, the token that ends it.

    A group is a bracket inside another one, a CASE, or the list of columns of a SELECT inside a bracket, which ends
    before the next clause or closing bracket.
    """
    closings: dict[int, int] = {}
    opened: list[tuple[int, str]] = []
    for i, word in enumerate(words):
        if opened and opened[-1][1] == "list" and (word in _CLAUSES or word in (")", "]", "}")):
            start, _ = opened.pop()
            closings[start] = i
        if word in _OPENING:
            opened.append((i, _OPENING[word]))
        elif opened and word == opened[-1][1]:
            start, _ = opened.pop()
            if opened:
                closings[start] = i
        elif word == "select" and opened:
            opened.append((i, "list"))
    return closings


def _is_simple_list(spaced: Sequence[tuple[str, str]], start: int, end: int, closings: Mapping[int, int]) -> bool:
    """Return whether a list of columns has line breaks, and each bracket and CASE in it fits into a line."""
    if _joined_length(spaced, start, end) is None:
        return False
    lengths = [_joined_length(spaced, k, closings[k] + 1) for k in range(start + 1, end) if k in closings]
    return all(length is None or length <= JOINED_WIDTH for length in lengths)


def _joined_length(spaced: Sequence[tuple[str, str]], start: int, end: int) -> int | None:
    """Return the length of tokens `start` to `end` (exclusive) on one line.

    None if there is no line break to remove, or if a comment or a literal with a line break is among them.
    """
    length, has_break = len(spaced[start][1]), False
    for k in range(start + 1, end):
        blank, word = spaced[k]
        if "--" in blank or "\n" in word:
            return None
        has_break = has_break or "\n" in blank
        length += len(_joined_blank(spaced[k - 1][1], blank, word)) + len(word)
    return length if has_break else None


def _rest_length(spaced: Sequence[tuple[str, str]], blanks: Sequence[str], end: int) -> int:
    """Return the number of characters after token `end` on its line."""
    length = 0
    for k in range(end + 1, len(spaced)):
        if "\n" in blanks[k]:
            break
        length += len(blanks[k]) + len(spaced[k][1])
    return length


def _joined_blank(previous: str, blank: str, word: str) -> str:
    """Return the space between two tokens on one line: that which is there, or what replaces a line break."""
    if "\n" not in blank:
        return blank
    return "" if previous in ("(", "[") or word in (")", "]", ",") else " "


def _column_after(text: str, column: int) -> int:
    """Return the column at the end of a text that begins in a column."""
    return len(text) - text.rfind("\n") - 1 if "\n" in text else column + len(text)
