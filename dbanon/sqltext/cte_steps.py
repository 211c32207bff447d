"""A statement of ours as its steps: the relations of its WITH clause, with what is said of each."""

from collections.abc import Sequence
from dataclasses import dataclass

from dbanon.sqltext.qualify_builtins import tidy
from dbanon.sqltext.tokenizer import spaced_words


@dataclass(frozen=True)
class Step:
    """A relation of a WITH clause: its name, what its comment says that it holds, and its SQL with the comment."""

    name: str
    holds: str
    sql: str


@dataclass(frozen=True)
class Steps:
    """The relations of a statement in their order, and the SELECT at its end."""

    relations: tuple[Step, ...]
    result: str

    def statement(self, result: str) -> str:
        """Return the statement with another SELECT at its end."""
        relations = ",\n".join(step.sql for step in self.relations)
        return f"WITH RECURSIVE\n{relations}\n{result}" if relations else result


def steps(query: str) -> Steps:
    """Return the steps of a statement as templates write it. O(n)."""
    found = spaced_words(tidy(query))
    words = [word.lower() for _, word in found]
    if words[:1] != ["with"]:
        return Steps((), _joined(found))
    at, relations, blank = 1 + (words[1] == "recursive"), [], ""
    while True:
        end = _end(words, words.index("(", at))
        comments = [line.strip()[2:].strip() for line in (blank + found[at][0]).split("\n") if line.strip()]
        name = found[at][1]
        plain = name[1:-1].replace('""', '"') if name[0] == '"' else name
        said = "".join(f"-- {line}\n" for line in comments)
        sql = name + _joined(found[at + 1 : end + 1], stripped=False)
        relations.append(Step(plain, " ".join(comments), said + sql))
        if words[end + 1] != ",":
            return Steps(tuple(relations), _joined(found[end + 1 :]))
        blank, at = found[end + 1][0], end + 2


def _end(words: Sequence[str], at: int) -> int:
    """Where the bracket that opens at a token is closed."""
    depth = 0
    for i in range(at, len(words)):
        depth += (words[i] == "(") - (words[i] == ")")
        if not depth:
            return i
    raise ValueError("a bracket is not closed")


def _joined(found: Sequence[tuple[str, str]], stripped: bool = True) -> str:
    made = "".join(blank + word for blank, word in found)
    return made.strip() if stripped else made
