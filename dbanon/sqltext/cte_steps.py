"""Split a statement of dbanon into its steps: the relations of its WITH clause, each with its comment."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from dbanon.sqltext.qualify_builtins import strip_blank_lines
from dbanon.sqltext.tokenizer import spaced_words

CHAPTERS = ("read", "cluster", "generalize", "check", "measure")
"""The names of the chapters of a statement that publishes, in order; only classes and metrics have the last one."""

_HEADING = re.compile(r"Chapter \d+, (?P<name>\w+): ")
"""The start of the comment that opens a chapter of a statement."""


@dataclass(frozen=True)
class CteStep:
    """A relation of a WITH clause.

    Attributes:
        name: Its name without quotes.
        description: The `--` comments above it, joined to one line without `--`; empty if there is none.
        sql: Its SQL, `name AS (...)`, below the lines of the comment.
        chapter: The name of the chapter of the statement that it belongs to; empty if the statement has none.
        heading: The comment that opens the chapter if this is its first relation, on one line; otherwise empty.
    """

    name: str
    description: str
    sql: str
    chapter: str = ""
    heading: str = ""


@dataclass(frozen=True)
class StatementSteps:
    """The relations of a WITH clause in their order, and `result`, the SELECT after them."""

    relations: tuple[CteStep, ...]
    result: str

    def statement(self, result: str) -> str:
        """Return this statement's SQL with the SELECT `result` in place of its own.

        Without relations only `result` is returned.
        """
        relations = ",\n".join(step.sql for step in self.relations)
        return f"WITH RECURSIVE\n{relations}\n{result}" if relations else result


def split_steps(query: str) -> StatementSteps:
    """Split a statement that a template made into the relations of its WITH clause and the SELECT after them. O(n).

    A statement without WITH has no relations and is the `result`. A bracket that is not closed raises ValueError.
    """
    spaced = spaced_words(strip_blank_lines(query))
    words = [word.lower() for _, word in spaced]
    if words[:1] != ["with"]:
        return StatementSteps((), _join_words(spaced))
    start, relations, space_before, chapter = 1 + (words[1] == "recursive"), [], "", ""
    while True:
        end = _closing_bracket(words, words.index("(", start))
        lines = (space_before + spaced[start][0]).split("\n")
        heading, comments = _split_heading([line.strip()[2:].strip() for line in lines if line.strip()])
        heading_start = _HEADING.match(heading)
        chapter = heading_start["name"] if heading_start else chapter
        name = spaced[start][1]
        unquoted = name[1:-1].replace('""', '"') if name[0] == '"' else name
        comment_lines = "".join(f"-- {line}\n" for line in comments)
        sql = name + _join_words(spaced[start + 1 : end + 1], strip=False)
        relations.append(CteStep(unquoted, " ".join(comments), comment_lines + sql, chapter, heading))
        if words[end + 1] != ",":
            return StatementSteps(tuple(relations), _join_words(spaced[end + 1 :]))
        space_before, start = spaced[end + 1][0], end + 2


def chapter_sql(query: str, chapter: str) -> str:
    """Return the relations of one chapter of a statement, below its heading; empty if it has no such chapter. O(n).

    The SELECT after the relations belongs to the last chapter.
    """
    steps = split_steps(query)
    relations = [step for step in steps.relations if step.chapter == chapter]
    if not relations:
        return ""
    text = f"-- {relations[0].heading}\n" + ",\n".join(step.sql for step in relations)
    return f"{text}\n{steps.result};" if relations[-1] is steps.relations[-1] else text


def _split_heading(comments: list[str]) -> tuple[str, list[str]]:
    """Split the comment lines above a relation into the heading of a chapter, on one line, and the other lines.

    The heading is `Chapter N, NAME: ` and text up to the line that ends with a full stop; it is empty if the first
    line is none.
    """
    if not comments or not _HEADING.match(comments[0]):
        return "", comments
    size = 1 + next((i for i, line in enumerate(comments) if line.endswith(".")), 0)
    return " ".join(comments[:size]), comments[size:]


def _closing_bracket(words: Sequence[str], opening: int) -> int:
    """Return the index of the token that closes the round bracket at index `opening`; ValueError if none does."""
    depth = 0
    for i in range(opening, len(words)):
        depth += (words[i] == "(") - (words[i] == ")")
        if not depth:
            return i
    raise ValueError("a bracket is not closed")


def _join_words(spaced: Sequence[tuple[str, str]], strip: bool = True) -> str:
    """Join (space, word) pairs to one text, each word after its space, without space at both ends if `strip`."""
    text = "".join(blank + word for blank, word in spaced)
    return text.strip() if strip else text
