"""Full-domain generalization: every combination of levels is examined, record by record."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence

from dbanon.encoding.encoded_table import Attribute, EncodedTable, NumericAttribute

Node = tuple[int, ...]


class Lattice:
    """The levels of a table without persons: the block of every record by attribute and level."""

    def __init__(self, space: EncodedTable, k: int) -> None:
        self.k = k
        rows = [tuple(map(int, c)) for c, n in zip(space.codes, space.counts, strict=True) for _ in range(int(n))]
        self.records = len(rows)
        self.blocks: list[list[list[object]]] = []
        self.numbers: list[list[int]] = []
        for j, attribute in enumerate(space.attributes):
            kept_columns, numbers, seen_count = [], [], -1
            for number, column in enumerate(_levels(attribute, [row[j] for row in rows])):
                if len(set(column)) != seen_count:
                    kept_columns.append(column)
                    numbers.append(number)
                    seen_count = len(set(column))
            self.blocks.append(kept_columns)
            self.numbers.append(numbers)

    def nodes(self) -> Iterator[Node]:
        """Yield all combinations of levels that join something, as level positions."""
        return itertools.product(*(range(len(levels)) for levels in self.blocks))

    def classes(self, node: Sequence[int]) -> list[tuple[object, ...]]:
        """Return the class of every record."""
        return list(zip(*(levels[i] for levels, i in zip(self.blocks, node, strict=True)), strict=True))

    def out(self, node: Sequence[int]) -> set[int]:
        """Return the records in classes of fewer than k."""
        classes = self.classes(node)
        sizes = Counter(classes)
        return {r for r, c in enumerate(classes) if sizes[c] < self.k}

    def sum(self, node: Node) -> int:
        """Return the sum of the levels."""
        return sum(self.numbers[j][i] for j, i in enumerate(node))

    def partition(self, node: Sequence[int]) -> list[list[int]]:
        """Return the published classes, as records."""
        classes, out = self.classes(node), self.out(node)
        groups: dict[object, list[int]] = {}
        for r, c in enumerate(classes):
            if r not in out:
                groups.setdefault(c, []).append(r)
        return sorted(groups.values())

    def datafly(self, max_suppressed: int) -> list[list[int]]:
        """Raise the attribute with the most distinct values until at most `max_suppressed` records are in no class."""
        node = [0] * len(self.blocks)
        while len(self.out(node)) > max_suppressed:
            higher = [j for j, levels in enumerate(self.blocks) if node[j] + 1 < len(levels)]
            maximum = max(higher, key=lambda j: (len(set(self.blocks[j][node[j]])), -j))
            node[maximum] += 1
        return self.partition(node)


def _levels(attribute: Attribute, codes: list[int]) -> Iterator[list[object]]:
    """Yield the blocks of a column, level by level; the top is one block."""
    if isinstance(attribute, NumericAttribute):
        level = 0
        while 2**level < attribute.values:
            yield ["NULL" if c == attribute.values else c // 2**level for c in codes]
            level += 1
        if level == 0:
            yield ["NULL" if c == attribute.values else 0 for c in codes]
    else:
        lines = [None if c == attribute.values else attribute.path_to_root(int(attribute.node[c])) for c in codes]
        deepest = max((len(attribute.path_to_root(int(n))) for n in attribute.node), default=1) - 1
        for level in range(max(deepest, 1)):
            yield ["NULL" if line is None else line[min(level, len(line) - 1)] for line in lines]
    yield ["top"] * len(codes)
