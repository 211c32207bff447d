"""Split a statement of dbanon into its steps: the relations of its WITH clause, each with its comment."""

from collections.abc import Sequence
from dataclasses import dataclass

from dbanon.sqltext.qualify_builtins import strip_blank_lines
from dbanon.sqltext.tokenizer import spaced_words


@dataclass(frozen=True)
class CteStep:
    """A relation of a WITH clause.

    Attributes:
        name: Its name without quotes.
        description: The `--` comments above it, joined to one line without `--`; empty if there is none.
        sql: Its SQL, `name AS (...)`, below the lines of the comment.
    """

    name: str
    description: str
    sql: str


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
    start, relations, space_before = 1 + (words[1] == "recursive"), [], ""
    while True:
        end = _closing_bracket(words, words.index("(", start))
        comments = [line.strip()[2:].strip() for line in (space_before + spaced[start][0]).split("\n") if line.strip()]
        name = spaced[start][1]
        unquoted = name[1:-1].replace('""', '"') if name[0] == '"' else name
        comment_lines = "".join(f"-- {line}\n" for line in comments)
        sql = name + _join_words(spaced[start + 1 : end + 1], strip=False)
        relations.append(CteStep(unquoted, " ".join(comments), comment_lines + sql))
        if words[end + 1] != ",":
            return StatementSteps(tuple(relations), _join_words(spaced[end + 1 :]))
        space_before, start = spaced[end + 1][0], end + 2


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
