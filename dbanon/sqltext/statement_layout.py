"""Lay out a statement that people read: a clause per line, indented by nesting, in lines of at most 120 characters."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import TypeVar

from dbanon.sqltext.quote import text
from dbanon.sqltext.tokenizer import spaced_words

_T = TypeVar("_T")

MAX_WIDTH = 120
"""Lines of a printed statement have at most so many characters, unless one name is longer."""

_SHORT_CLAUSES = 80
"""FROM and the clauses after it are on one line if they have at most so many characters."""

_INDENT = 4
_CLOSINGS = {"(": ")", "[": "]", "{": "}", "case": "end"}
"""What ends a group, by the word that opens it."""

_QUERY_STARTS = frozenset({"select", "from", "with", "values"})
_JOINS = frozenset({"left", "right", "full", "cross", "positional", "inner", "asof", "semi", "anti", "natural"})
_CLAUSES = _JOINS | {
    "select", "from", "join", "where", "group", "having", "qualify", "order", "limit", "union", "intersect", "except",
}  # fmt: skip
"""Words that begin a clause of a query."""

_SEPARATORS = (
    frozenset({"on", "then"}),
    frozenset({"and", "or"}),
    frozenset({"else", "when", "is", "as", "order", "over"}),
    frozenset({"||", "+", "-", "=", "<>", "<", ">", "<=", ">="}),
    frozenset({"::", "collate"}),
)
"""Words before which an expression is broken, the best first."""

_LITERAL_PREFIXES = frozenset({"date", "time", "timestamp", "timestamptz", "interval", "as", "at", "from", "join"})
"""Words after which a string literal is not an expression: a typed literal, a name or a file. It is not cut."""


@dataclass(frozen=True)
class _Word:
    """A token: its text, the space before it within a line, and the comments above it."""

    text: str
    space: str = ""
    comments: tuple[str, ...] = ()

    @property
    def flat(self) -> str:
        """The token on one line."""
        return self.text

    @property
    def key(self) -> str:
        """The text in lower case, for comparison with keywords."""
        return self.text.lower()

    def without_comments(self) -> "_Word":
        """Return the token without the comments above it."""
        return replace(self, comments=())


@dataclass(frozen=True)
class _Group:
    """A pair of brackets, or CASE and END, with the nodes between them."""

    opening: _Word
    content: "tuple[_Node, ...]"
    closing: _Word

    key = ""
    """A group equals no keyword."""

    @property
    def space(self) -> str:
        """The space before the group within a line."""
        return self.opening.space

    @property
    def comments(self) -> tuple[str, ...]:
        """The comments above the group."""
        return self.opening.comments

    @cached_property
    def flat(self) -> str | None:
        """The group on one line; None if there are comments in it."""
        nodes = (*self.content, self.closing)
        content = None if nodes[0].comments else _flat(nodes)
        return None if content is None else self.opening.text + nodes[0].space + content

    def without_comments(self) -> "_Group":
        """Return the group without the comments above it; those in it stay."""
        return replace(self, opening=self.opening.without_comments())

    @property
    def is_breakable(self) -> bool:
        """Whether there is something between the brackets."""
        return bool(self.content or self.closing.comments)

    @property
    def is_query(self) -> bool:
        """Whether the brackets contain a query."""
        return bool(self.content) and self.content[0].key in _QUERY_STARTS


_Node = _Word | _Group


@dataclass(frozen=True)
class _NodesAroundGroup:
    """Nodes of which one is a group that is broken into several lines."""

    preceding: Sequence[_Node]
    group: _Group
    following: Sequence[_Node]

    def enclose(self, parts: Sequence[Sequence[_Node]]) -> list[list[_Node]]:
        """Return the parts of the group, the first with its opening and the nodes before it, the last likewise."""
        enclosed = [list(part) for part in parts]
        enclosed[0] = [*self.preceding, self.group.opening, *enclosed[0]]
        enclosed[-1] += [self.group.closing, *self.following]
        return enclosed


def lay_out(statement: str) -> str:
    """Return a statement in lines of at most `MAX_WIDTH` characters: only its white space changes, and long literals.

    Each clause of a query begins a line, unless FROM and those after it are short. Brackets that do not fit into a line
    have their content indented below them, and so have the relations of a WITH clause. A string literal that does not
    fit becomes `concat(...)` of shorter ones. Only a line with a longer quoted name stays longer. O(n * depth).
    """
    nodes = _parse(statement)
    return "\n".join(_query_lines(nodes, 0)) if nodes else ""


def _parse(statement: str) -> list[_Node]:
    """Return the tokens of a statement, those in brackets and in CASE as groups, with long literals cut."""
    open_groups: list[tuple[_Word, list[_Node]]] = [(_Word(""), [])]
    spaced = spaced_words(statement)
    previous = ""
    for (blank, token), (_, following) in zip(spaced, [*spaced[1:], ("", "")], strict=False):
        *comments, last_line = blank.split("\n")
        is_joined = last_line == "" if not comments else previous in ("", "(", "[") or token in (")", "]", ",", ";")
        word = _Word(token, "" if is_joined else " ", tuple(line.strip() for line in comments if line.strip()))
        opening, content = open_groups[-1]
        if word.key in _CLOSINGS:
            open_groups.append((word, []))
        elif word.key == _CLOSINGS.get(opening.key):
            open_groups.pop()
            open_groups[-1][1].append(_Group(opening, tuple(content), word))
        elif previous.lower() in _LITERAL_PREFIXES or following == ":":  # of a key
            content.append(word)
        else:
            content += _cut_literal(word, max(MAX_WIDTH - _INDENT * (len(open_groups) + 4), MAX_WIDTH // 3))
        previous = token
    while len(open_groups) > 1:  # a bracket that is not closed
        opening, content = open_groups.pop()
        open_groups[-1][1].extend([opening, *content])
    return open_groups[0][1]


def _cut_literal(word: _Word, size: int) -> list[_Node]:
    """Return a string literal longer than `size` as a call of concat with shorter ones, and any other word as it is."""
    if word.text[0] != "'" or max(map(len, word.text.split("\n"))) <= size:
        return [word]
    pieces: list[_Node] = []
    for piece in _literal_pieces(word.text[1:-1].replace("''", "'"), size - _INDENT - 2):
        pieces += [_Word(","), _Word(text(piece), " ")] if pieces else [_Word(text(piece))]
    return [_Word("concat", word.space, word.comments), _Group(_Word("("), tuple(pieces), _Word(")"))]


def _literal_pieces(value: str, size: int) -> list[str]:
    """Cut a text into pieces of which a literal has at most `size` characters between its quotes.

    A piece ends after a line break, or else after a blank or comma. A quote counts twice, because literals double it.
    """
    pieces = []
    for line in value.splitlines(keepends=True):
        while len(line) + line.count("'") > size:
            longest = size - line.count("'", 0, size)
            end = max(line.rfind(" ", 1, longest), line.rfind(",", 1, longest)) + 1 or longest
            pieces.append(line[:end])
            line = line[end:]
        pieces.append(line)
    return pieces


def _query_lines(nodes: Sequence[_Node], indent: int) -> list[str]:
    """Return the lines of a query, or of relations of a WITH clause with the query after them."""
    lines: list[str] = []
    for clause in _join_short_clauses(_split(nodes, lambda i: _begins_clause(nodes, i)), indent):
        if clause[0].key == "values":
            rows = _split_at_commas(clause[1:])
            lines += [*_lines(clause[:1], indent), *(line for row in rows for line in _lines(row, _deeper(indent)))]
        elif clause[0].key in _CLAUSES:
            lines += _lines(clause, indent, indent if clause[0].key == "from" else None)
        else:
            lines += _relation_lines(clause, indent)
    return lines


def _join_short_clauses(clauses: Sequence[Sequence[_Node]], indent: int) -> list[Sequence[_Node]]:
    """Return the clauses of a query, with FROM and all that follow it as one if they are short and fit into a line."""
    clauses_per_line: list[Sequence[_Node]] = []
    for run in _split(clauses, lambda i: clauses[i][0].key in ("select", "from", "union", "intersect", "except")):
        together = [node for clause in run for node in clause]
        is_short = run[0][0].key == "from" and _size(together) <= _SHORT_CLAUSES and _fits(together, indent)
        clauses_per_line += [together] if is_short else run
    return clauses_per_line


def _begins_clause(nodes: Sequence[_Node], i: int) -> bool:
    """Return whether a clause of a query begins with node i. `left(...)` and `IS DISTINCT FROM` begin none."""
    key, previous = nodes[i].key, nodes[i - 1].key
    following = nodes[i + 1] if i + 1 < len(nodes) else _Word("")
    if isinstance(following, _Group) and not following.space:
        return False
    if key in _JOINS:
        return previous not in _JOINS and following.key in ("join", "outer", *_JOINS)
    if key == "join":
        return previous not in _JOINS and previous != "outer"
    return key in _CLAUSES and not (key == "from" and previous == "distinct")


def _relation_lines(nodes: Sequence[_Node], indent: int) -> list[str]:
    """Return the lines of the relations of a WITH clause: `name AS (query)`, of which the query is always indented."""
    start = nodes[: 1 + (nodes[1].key == "recursive")] if nodes[0].key == "with" else []
    nodes = nodes[len(start) :]
    lines = _lines(start, indent) if start and nodes[0].comments else []
    for relation in _split_at_commas(nodes if lines else [*start, *nodes]):
        queries = [i for i, node in enumerate(relation) if isinstance(node, _Group) and node.is_query]
        lines += (
            _group_lines(_around(relation, queries[-1]), indent, _deeper(indent))
            if queries
            else _lines(relation, indent)
        )
    return lines


def _lines(nodes: Sequence[_Node], indent: int, hanging: int | None = None) -> list[str]:
    """Return the lines of nodes.

    Args:
        nodes: The nodes. The comments above the first one come first.
        indent: The indentation of the comments and the first line.
        hanging: That of the other lines; by default a level deeper.
    """
    prefix = " " * indent + "-- "
    comments = (
        textwrap.wrap(comment[2:].strip(), MAX_WIDTH, initial_indent=prefix, subsequent_indent=prefix,
                      break_long_words=False, break_on_hyphens=False) or [prefix.rstrip()]
        for comment in nodes[0].comments
    )  # fmt: skip
    code_nodes = [nodes[0].without_comments(), *nodes[1:]]
    code = _code_lines(code_nodes, indent, _deeper(indent) if hanging is None else hanging)
    return [*(line for wrapped in comments for line in wrapped), *code]


def _code_lines(nodes: Sequence[_Node], indent: int, hanging: int) -> list[str]:
    """Return the lines of nodes without the comments above the first one.

    What does not fit into a line is broken after its commas, or else where the most of it is: in its largest group, or
    before keywords and operators.
    """
    if _fits(nodes, indent):
        return [" " * indent + str(_flat(nodes))]
    for parts in (_split(nodes, lambda i: bool(nodes[i].comments)), _split_at_commas(nodes)):
        if len(parts) > 1:
            return _fill(parts, indent, hanging)
    largest = _largest_group(nodes)
    is_most = largest is not None and 2 * _size([largest.group]) >= _size(nodes)
    if largest is not None and is_most and largest.group.is_query:
        return _group_lines(largest, indent, hanging)
    splits = [parts for words in _SEPARATORS if len(parts := _split_before(nodes, words)) > 1]
    for parts in splits:
        if all(_fits(part, hanging) for part in parts):
            return _fill(parts, indent, hanging)
    if largest is not None and (not splits or (is_most and _start_fits(largest, indent, hanging))):
        return _group_lines(largest, indent, hanging)
    after_openings = _split(nodes, lambda i: nodes[i - 1].key in _CLOSINGS)
    for parts in (*splits, after_openings):
        if len(parts) > 1:
            return _fill(parts, indent, hanging)
    return [" " * indent + str(_flat(nodes))]


def _group_lines(nodes: _NodesAroundGroup, indent: int, hanging: int) -> list[str]:
    """Return the lines of nodes of which the group is broken.

    The elements of a list follow the opening bracket if all but the last fit into a line, and so do the branches of a
    CASE if there are two. Other content is indented between the line that it is opened on and the one that closes it.
    """
    group = nodes.group
    inner = _deeper(indent)
    if group.is_query:
        content = _query_lines(group.content, inner)
    elif group.opening.key == "case":
        branches = _split(group.content, lambda i: group.content[i].key in ("when", "else"))
        if len(branches) == 2 and _can_follow(branches, hanging):
            return _fill(nodes.enclose(branches), indent, hanging)
        content = [line for branch in branches for line in _lines(branch, inner)]
    else:
        elements = _split_at_commas(group.content)
        if len(elements) == 1:
            return _code_lines(nodes.enclose(elements)[0], indent, hanging)
        if _can_follow(elements[:-1], hanging):
            return _fill(nodes.enclose(elements), indent, hanging)
        content = _fill(elements, inner, inner)
    return [
        *_lines([*nodes.preceding, group.opening], indent),
        *content,
        *_lines([group.closing, *nodes.following], indent),
    ]


def _fill(parts: Iterable[Sequence[_Node]], indent: int, hanging: int) -> list[str]:
    """Return the lines of parts: as many parts on each line as fit."""
    rows: list[list[_Node]] = []
    for part in parts:
        if rows and not part[0].comments and _fits([*rows[-1], *part], indent if len(rows) == 1 else hanging):
            rows[-1] += part
        else:
            rows.append(list(part))
    deepest = _deeper(hanging) if len(rows) > 1 else hanging
    return [line for i, row in enumerate(rows) for line in _lines(row, hanging if i else indent, deepest)]


def _deeper(indent: int) -> int:
    """Return the indentation of the next level, up to half the width."""
    return min(indent + _INDENT, MAX_WIDTH // 2)


def _fits(nodes: Sequence[_Node], indent: int) -> bool:
    """Return whether nodes fit into a line, and there are no comments between them."""
    content = _flat(nodes)
    return content is not None and max(map(len, (" " * indent + content).split("\n"))) <= MAX_WIDTH


def _can_follow(parts: Iterable[Sequence[_Node]], indent: int) -> bool:
    """Return whether parts can follow an opening bracket: each fits into a line, and no comment is above it."""
    return all(_fits(part, indent) and not part[0].comments for part in parts)


def _start_fits(nodes: _NodesAroundGroup, indent: int, hanging: int) -> bool:
    """Return whether the nodes up to the opening of the group fit into a line, with its first element if that fits."""
    first = _split_at_commas(nodes.group.content)[0]
    return _fits([*nodes.preceding, nodes.group.opening, *(first if first and _fits(first, hanging) else [])], indent)


def _flat(nodes: Sequence[_Node]) -> str | None:
    """Return nodes on one line, without the space before them; None if there are comments between them."""
    if any(node.flat is None for node in nodes) or any(node.comments for node in nodes[1:]):
        return None
    return "".join(f"{node.space}{node.flat}" for node in nodes).removeprefix(nodes[0].space)


def _largest_group(nodes: Sequence[_Node]) -> _NodesAroundGroup | None:
    """Return nodes with the longest group among them that can be broken; None if there is none."""
    indexes = [i for i, node in enumerate(nodes) if isinstance(node, _Group) and node.is_breakable]
    return _around(nodes, max(indexes, key=lambda i: _size(nodes[i : i + 1]))) if indexes else None


def _around(nodes: Sequence[_Node], index: int) -> _NodesAroundGroup:
    """Return nodes, of which that at an index is a group."""
    group = nodes[index]
    if not isinstance(group, _Group):
        raise TypeError("this node is no group")
    return _NodesAroundGroup(nodes[:index], group, nodes[index + 1 :])


def _size(nodes: Sequence[_Node]) -> float:
    """Return the number of characters of nodes on one line; infinity if there are comments between them."""
    content = _flat(nodes)
    return float("inf") if content is None else len(content)


def _split(nodes_or_clauses: Sequence[_T], begins: Callable[[int], bool]) -> list[Sequence[_T]]:
    """Split nodes or clauses before those whose index begins a part."""
    bounds = [0, *(i for i in range(1, len(nodes_or_clauses)) if begins(i)), len(nodes_or_clauses)]
    return [nodes_or_clauses[start:end] for start, end in pairwise(bounds)]


def _split_at_commas(nodes: Sequence[_Node]) -> list[Sequence[_Node]]:
    """Split nodes after commas."""
    return _split(nodes, lambda i: nodes[i - 1].key == ",")


def _split_before(nodes: Sequence[_Node], words: frozenset[str]) -> list[Sequence[_Node]]:
    """Split an expression before words. The AND of a BETWEEN stays with it."""
    return _split(nodes, lambda i: nodes[i].key in words and not (i > 1 and nodes[i - 2].key == "between"))
