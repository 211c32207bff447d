"""SimDiv, implemented plainly, record by record, with similarities of all pairs and no groups."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from dbanon.encoding.encoded_table import CategoricalAttribute, EncodedTable, NumericAttribute

STEP = 2**40


class SimilarityTable:
    """The records of an encoded table in canonical order: vectors, codes, sensitive codes."""

    def __init__(self, space: EncodedTable, scale: str) -> None:
        values = [t for t, n in enumerate(space.counts.tolist()) for _ in range(n)]
        self.codes = [tuple(int(c) for c in space.codes[t]) for t in values]
        self.vectors = [[self.coordinate(space, j, c, scale) for j, c in enumerate(codes)] for codes in self.codes]
        self.sensitive = [s.codes.tolist() for s in space.sensitive]
        self.kinds = [sum(n > 0 for n in s.value_counts.tolist()) for s in space.sensitive]

    @staticmethod
    def coordinate(space: EncodedTable, j: int, code: int, scale: str) -> float:
        """Return the coordinate of a code in the vector space."""
        attribute = space.attributes[j]
        if isinstance(attribute, CategoricalAttribute) and attribute.magnitudes is None:
            return code / max(attribute.values - 1, 1) if scale == "minmax" else float(code)
        if code == attribute.values:
            return 0.0
        numbers = attribute.magnitudes
        if numbers is None:
            assert isinstance(attribute, NumericAttribute)
            numbers = attribute.positions
        values = numbers.tolist()
        if scale == "raw":
            return values[code]
        return (values[code] - min(values)) / (max(values) - min(values)) if max(values) > min(values) else 0.0

    def cosine(self, a: int, b: int) -> float:
        """Return the cosine similarity of two records."""
        u, v = (self.scaled(self.vectors[r]) for r in (a, b))
        lengths = [math.sqrt(sum(x * x for x in w)) for w in (u, v)]
        if 0.0 in lengths:
            return float(lengths == [0.0, 0.0])
        return sum((x / lengths[0]) * (y / lengths[1]) for x, y in zip(u, v, strict=True))

    @staticmethod
    def scaled(vector: list[float]) -> list[float]:
        """Scale a vector: squares of large numbers would overflow."""
        greatest = max(abs(x) for x in vector)
        return [x / greatest for x in vector] if greatest else vector

    def similar(self, a: int, b: int) -> int:
        return round(self.cosine(a, b) * STEP)

    def values(self, row: int) -> tuple[int, ...]:
        return tuple(column[row] for column in self.sensitive)


def diversity(values: Sequence[int], kinds: int | None) -> float:
    """Return the Shannon index; with `kinds` divided by ln(min(kinds, size))."""
    shares = [n / len(values) for n in Counter(values).values()]
    index = -sum(p * math.log(p) for p in shares)
    if kinds is None:
        return index
    minimum = min(kinds, len(values))
    return index / math.log(minimum) if minimum > 1 else 0.0


def ranked_records(table: SimilarityTable, how: str) -> list[int]:
    """Return the records by mean similarity to all others (`sum`), or as a chain of the most similar ones."""
    n = len(table.codes)
    mean = [round(sum(table.cosine(r, j) for j in range(n) if j != r) / n * STEP) for r in range(n)]
    order = sorted(range(n), key=lambda r: (-mean[r], r))
    if how == "sum":
        return order
    chain, remaining_numbers = [order[0]], set(range(n)) - {order[0]}
    while remaining_numbers:
        chain.append(min(remaining_numbers, key=lambda r: (-table.similar(chain[-1], r), r)))
        remaining_numbers.remove(chain[-1])
    return chain


def centers(table: SimilarityTable, order: list[int], k: int, top: int, min_similarity: int) -> list[int]:
    """Return one center per slice of k records, with a new value of the attribute `top` if possible."""
    n, result, seen_values = len(order), [], set()
    for c in range(n // k):
        part = order[c * k : (c + 1) * k if c < n // k - 1 else n]
        others = [sum(table.similar(a, b) >= min_similarity for b in part if b != a) for a in part]
        enough = [r for r, o in zip(part, others, strict=True) if o >= k - 1]
        candidates = enough or [r for r, o in zip(part, others, strict=True) if o == max(others)]
        new = [r for r in candidates if table.codes[r][top] not in seen_values]
        result.append((new or candidates)[0])
        seen_values.add(table.codes[result[-1]][top])
    return result


def clusters(space: EncodedTable, k: int, options: Mapping[str, Any]) -> list[list[int]]:
    """Return the clusters of SimDiv before they are raised."""
    table = SimilarityTable(space, options["cs_scale"])
    order = ranked_records(table, options["rank"])
    influence = [a.weight if options["influence"] == "weights" else a.influence for a in space.attributes]
    min_rounded = round(options["t_cs"] * STEP)
    values = [[c] for c in centers(table, order, k, influence.index(max(influence)), min_rounded)]
    remaining_numbers = sorted(set(range(len(order))) - {c for (c,) in values})

    def score(cluster: list[int], row: int) -> int:
        total = 0
        for column, kinds in zip(table.sensitive, table.kinds, strict=True):
            if options["div"] == "pair":
                total += round(math.log(2) * STEP) if column[cluster[0]] != column[row] else 0
            else:
                total += round(diversity([column[r] for r in (*cluster, row)], kinds) * STEP)
        part = round(options["alpha_pr"] * (total / max(len(table.sensitive), 1)))
        return part + round(options["beta_ut"] * table.similar(cluster[0], row))

    for cluster in values:
        while len(cluster) < k:
            choice = remaining_numbers
            if options["avoid_uniform"] and len(cluster) == k - 1:
                equal_has_all = all(len({column[r] for r in cluster}) == 1 for column in table.sensitive)
                other = [r for r in remaining_numbers if table.values(r) != table.values(cluster[0])]
                choice = other if equal_has_all and other else remaining_numbers
            near = [r for r in choice if table.similar(cluster[0], r) >= min_rounded]
            best = min(near or choice, key=lambda r: (-score(cluster, r), r))
            cluster.append(best)
            remaining_numbers.remove(best)
    by_k = 2 if k <= 10 else 3 if k <= 100 else 4
    part = {"by_k": by_k, "half": 2, "third": 3, "quarter": 4, "none": None}[options["cap"]]
    max_ceil = k + math.ceil(k / part) if part else math.inf
    for row in [r for r in order if r in remaining_numbers]:
        below = [c for c in values if len(c) < max_ceil] or values
        best_similar = max(table.similar(c[0], row) for c in below)
        next(c for c in below if table.similar(c[0], row) == best_similar).append(row)
    return values


def raised_clusters(
    space: EncodedTable, groups: list[list[int]], k: int, options: Mapping[str, Any]
) -> list[list[tuple[int, int]]]:
    """Return the first and last code by attribute that each cluster is published with."""
    table = SimilarityTable(space, "raw")
    influence = [a.weight if options["influence"] == "weights" else a.influence for a in space.attributes]
    mean = sum(influence) / len(influence)
    actual_spans = []
    for group in groups:
        normalized = options["div_scale"] == "normalized"
        pairs = zip(table.sensitive, table.kinds, strict=True)
        lowest = min(diversity([c[r] for r in group], n if normalized else None) for c, n in pairs)
        poor = lowest <= options["t_div"] + 1e-12 and (options["imbalance"] == "always" or len(group) > k)
        spans = []
        for j, attribute in enumerate(space.attributes):
            codes = {table.codes[r][j] for r in group}
            span = (min(codes), max(codes))
            selection = (
                influence[j] >= mean if options["influential"] == "mean" else j == influence.index(max(influence))
            )
            if poor and selection and span[1] < attribute.values:
                for _ in range(options["levels"]):
                    span = _widened_span(attribute, span)
            spans.append(span)
        actual_spans.append(spans)
    return actual_spans


def _widened_span(attribute: NumericAttribute | CategoricalAttribute, span: tuple[int, int]) -> tuple[int, int]:
    """Return the span one level up; unchanged at the top."""
    if isinstance(attribute, NumericAttribute):
        size = 1
        while size < 2 * attribute.values:
            for begin in range(0, attribute.values, size):
                end = min(begin + size, attribute.values) - 1
                if begin <= span[0] and span[1] <= end and (begin, end) != span:
                    return begin, end
            size *= 2
        return span
    lines = [attribute.path_to_root(int(attribute.node[c])) for c in range(attribute.values)]
    shared = [n for n in lines[span[0]] if n in lines[span[1]]]
    limit = 0
    if attribute.max_level is not None:
        limit = lines[span[0]][min(attribute.max_level, len(lines[span[0]]) - 1)]
    for node in shared[1:] if shared[0] != limit else []:
        below = [c for c, line in enumerate(lines) if node in line]
        if (below[0], below[-1]) != span:
            return below[0], below[-1]
        if node == limit:
            break
    return span
