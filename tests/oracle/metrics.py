"""Metrics of a release as plain loops over its records, from the definitions of the papers.

Nothing is shared with the package. Records are lists of original values, groups (classes, or clusters as formed) lists
of record numbers. NULL is None: a group of NULLs loses nothing, one that mixes NULL and values all of the attribute.
"""

from __future__ import annotations

import datetime
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from oracle import reference

Groups = Sequence[Sequence[int]]


@dataclass(frozen=True)
class CodedNumber:
    """A number, as a float or (dates) days: the `step` of its type or None, rounding of ends, and its codings."""

    step: float | None = None
    low: Callable[[Any], Any] = lambda v: v
    high: Callable[[Any], Any] = lambda v: v
    bottom: Any = None
    top: Any = None

    def coded(self, value: Any) -> Any:
        if self.bottom is not None:
            value = max(value, self.bottom)
        return value if self.top is None else min(value, self.top)

    def ends(self, values: Sequence[Any]) -> tuple[Any, Any]:
        """Return the published interval of some values."""
        coded_values = [self.coded(v) for v in values]
        low, high = self.low(min(coded_values)), self.high(max(coded_values))
        return (
            low if self.bottom is None else max(low, self.bottom),
            high if self.top is None else min(high, self.top),
        )


@dataclass(frozen=True)
class LeveledCategory:
    """A category; values are raised `level` steps before anything else."""

    tree: reference.Tree
    level: int = 0

    def node(self, label: str) -> reference.Node:
        leaf = self.tree.leaf(label)
        return leaf[: max(1, len(leaf) - self.level)]

    def common(self, labels: Sequence[str]) -> reference.Node:
        node = self.node(labels[0])
        for label in labels:
            node = self.tree.lca(node, self.node(label))
        return node


Attribute = CodedNumber | LeveledCategory


def span(low: Any, high: Any) -> float:
    """Return high - low; of dates in days."""
    width = high - low
    return float(width.days if isinstance(width, datetime.timedelta) else width)


def published_span(attribute: Attribute, parts: Sequence[Sequence[Any]]) -> float:
    """Return the span from the least to the greatest published end; a group with NULLs publishes none."""
    ends = [attribute.ends(part) for part in parts if None not in part] if isinstance(attribute, CodedNumber) else []
    return span(min(low for low, _ in ends), max(high for _, high in ends)) if ends else 0.0


def loss(attribute: Attribute, part: Sequence[Any], full_span: float, kind: str, null_as_root: bool) -> float:
    """Return the loss of one record of a group; `full_span` is the span of all published values.

    `kind`: edges or leaves; `null_as_root`: a group of NULLs is published as the root.
    """
    known_parts = [v for v in part if v is not None]
    if len(known_parts) < len(part):
        return 1.0 if known_parts or (null_as_root and isinstance(attribute, CodedNumber)) else 0.0
    if isinstance(attribute, CodedNumber):
        return span(*attribute.ends(known_parts)) / full_span if full_span else 0.0
    tree, node = attribute.tree, attribute.common(known_parts)
    if not tree.children[node]:
        return 0.0
    return tree.hsub(node) / tree.hsub(tree.root) if kind == "edges" else tree.leaves(node) / tree.leaves(tree.root)


def total_loss(
    records: Sequence[Sequence[Any]],
    attributes: Sequence[Attribute],
    groups: Groups,
    kind: str,
    null_as_root: bool = False,
) -> float:
    """Return the total loss of a partition.

    Three-variants paper, Eq. 1-2 (edges); the NCP form (leaves); review, Eq. 7 as a sum (numbers).
    """
    total = []
    for j, a in enumerate(attributes):
        if kind != "numbers" or isinstance(a, CodedNumber):
            parts = [[records[r][j] for r in group] for group in groups]
            full_published_span = published_span(a, parts)
            total += [len(part) * loss(a, part, full_published_span, kind, null_as_root) for part in parts]
    return math.fsum(total)


def square_error(attribute: Attribute, column: Sequence[Any], part: Sequence[Any], unit: float | None = None) -> float:
    """Return the square error of one attribute and group (three-variants paper, Eq. 4).

    Over the column's range; 0 or 1 from a category's mode. `unit` instead of the range: the raw form.
    """
    known_parts = [v for v in part if v is not None]
    if isinstance(attribute, LeveledCategory):
        if len(known_parts) < len(part):
            return float(len(part)) if known_parts else 0.0
        return float(len(known_parts) - max(Counter(attribute.node(v) for v in known_parts).values()))
    coded_values = [attribute.coded(v) for v in column if v is not None]
    reach = span(min(coded_values), max(coded_values))
    scale = reach if unit is None else unit
    if len(known_parts) < len(part):
        return len(part) * (1.0 if unit is None else (reach / unit) ** 2) if known_parts else 0.0
    if not known_parts or not reach:
        return 0.0
    places = [span(min(coded_values), attribute.coded(v)) / scale for v in known_parts]
    mean = math.fsum(places) / len(places)
    return math.fsum((p - mean) ** 2 for p in places)


def z_scores(attribute: CodedNumber, column: Sequence[Any]) -> list[tuple[float, float]]:
    """Return the positions of a column on two axes.

    The axes are the z-score (0 where NULL), and whether it is NULL, at one standard deviation.
    """
    coded_values = [None if v is None else attribute.coded(v) for v in column]
    minimum = min(v for v in coded_values if v is not None)
    places = [math.nan if v is None else span(minimum, v) for v in coded_values]
    known_places = [p for p in places if not math.isnan(p)]
    mean = math.fsum(known_places) / len(known_places)
    deviation = math.sqrt(math.fsum((p - mean) ** 2 for p in known_places) / len(known_places))
    return [(0.0, 1.0) if math.isnan(p) else ((p - mean) / deviation, 0.0) for p in places]


def sse_share(columns: Sequence[Sequence[Any]], attributes: Sequence[Attribute], groups: Groups) -> float:
    """Return 100 SSE / SST of the numbers that vary; every column has equal weight."""
    shares = []
    for attribute, column in zip(attributes, columns, strict=True):
        if isinstance(attribute, CodedNumber) and len({attribute.coded(v) for v in column if v is not None}) > 1:
            places = z_scores(attribute, column)
            inner_fsum = math.fsum(_squared_deviations([places[r] for r in group]) for group in groups)
            shares.append(inner_fsum / _squared_deviations(places))
    return 100 * math.fsum(shares) / len(shares) if shares else 0.0


def _squared_deviations(places: Sequence[tuple[float, float]]) -> float:
    """Return the summed squared distances to the mean."""
    means = [math.fsum(axis) / len(places) for axis in zip(*places, strict=True)]
    return math.fsum((x - m) ** 2 for place in places for x, m in zip(place, means, strict=True))


def divergence(
    records: Sequence[Sequence[Any]], attributes: Sequence[Attribute], groups: Groups, null_as_root: bool = False
) -> float:
    """Return the divergence (review, Eq. 11) in nats.

    Records of a group are spread evenly over the cells that it publishes.
    """
    columns = list(zip(*records, strict=True))
    density = Counter[tuple[Any, ...]]()
    distinct = Counter(tuple(r) for r in records)
    for group in groups:
        regions = [
            _region(a, [records[r][j] for r in group], columns[j], null_as_root) for j, a in enumerate(attributes)
        ]
        cells = math.prod(float(number) for number, _ in regions)
        for x in distinct:
            if all(holds(v) for v, (_, holds) in zip(x, regions, strict=True)):
                density[x] += len(group) / cells  # type: ignore[assignment]
    n = len(records)
    return math.fsum(count / n * math.log(count / density[x]) for x, count in distinct.items())


def _region(
    attribute: Attribute, part: Sequence[Any], column: Sequence[Any], null_as_root: bool
) -> tuple[float, Callable[[Any], bool]]:
    """Return the number of cells that a group covers, and the values within them."""
    known_parts = [v for v in part if v is not None]
    everything = [v for v in column if v is not None]
    null = len(everything) < len(column)
    number = isinstance(attribute, CodedNumber)
    if not known_parts and not (null_as_root and number):
        return 1, lambda v: v is None
    if isinstance(attribute, LeveledCategory):
        node = attribute.common(known_parts)
        if len(known_parts) < len(part) or node[-1] == "*":
            return attribute.tree.leaves(attribute.tree.root) + null, lambda v: True
        return attribute.tree.leaves(node), lambda v: v is not None and attribute.tree.leaf(v)[: len(node)] == node
    if len(known_parts) < len(part):
        low, high = min(everything), max(everything)
        count = len(set(everything)) if attribute.step is None else round(span(low, high) / attribute.step) + 1
        return count + null, lambda v: True
    low, high = attribute.ends(known_parts)
    if attribute.bottom is not None and low <= attribute.bottom:
        low = min(low, *everything)
    if attribute.top is not None and high >= attribute.top:
        high = max(high, *everything)
    inside = {v for v in everything if low <= v <= high}
    count = len(inside) if attribute.step is None else round(span(low, high) / attribute.step) + 1
    return count, lambda v: v is not None and low <= v <= high


def partition_metrics(
    records: Sequence[Sequence[Any]],
    attributes: Sequence[Attribute],
    classes: Groups,
    k: int,
    n_suppressed: int,
    names: Sequence[str],
    suffix: str = "",
    null_as_root: bool = False,
) -> dict[str, float]:
    """Return every metric of a partition of released records; suppressed records do not count."""
    columns = list(zip(*records, strict=True))
    n, numbers = len(records), [isinstance(a, CodedNumber) for a in attributes]
    plain_total = sum(len(c) ** 2 for c in classes)
    errors = [
        math.fsum(square_error(a, columns[j], [records[r][j] for r in c]) for c in classes)
        for j, a in enumerate(attributes)
    ]
    mapping = {
        "c_avg" + suffix: n / len(classes) / k,
        "discernibility" + suffix: plain_total,
        "discernibility_suppression" + suffix: plain_total + n_suppressed * (n + n_suppressed),
        "square_error" + suffix: math.fsum(errors),
    }
    for j, a in enumerate(attributes):
        if isinstance(a, CodedNumber):
            mapping[f"square_error_raw{suffix}:{names[j]}"] = math.fsum(
                square_error(a, columns[j], [records[r][j] for r in c], 1.0) for c in classes
            )
    if suffix:
        return mapping
    for j, a in enumerate(attributes):
        parts = [[records[r][j] for r in c] for c in classes]
        full_published_span = published_span(a, parts)
        told_nothing = sum(
            len(part) for part in parts if loss(a, part, full_published_span, "leaves", null_as_root) == 1
        )
        mapping[f"fully_generalized:{names[j]}"] = told_nothing / n
    mapping["is_single_class"] = float(len(classes) == 1)
    lost_total_loss_by_kind = {
        kind: total_loss(records, attributes, classes, kind, null_as_root) for kind in ("edges", "leaves", "numbers")
    }
    mapping |= {
        "total_information_loss": lost_total_loss_by_kind["edges"],
        "ncp": lost_total_loss_by_kind["leaves"],
        "gcp": lost_total_loss_by_kind["leaves"] / (n * len(attributes)),
        "kl_divergence": divergence(records, attributes, classes, null_as_root),
    }
    if any(numbers):
        mapping["numeric_information_loss"] = lost_total_loss_by_kind["numbers"]
        mapping["numeric_information_loss_average"] = lost_total_loss_by_kind["numbers"] / (n * sum(numbers))
        mapping["sse_share"] = sse_share(columns, attributes, classes)
    return mapping


def month_low(day: datetime.date) -> datetime.date:
    """Return the first of the month."""
    return day.replace(day=1)


def month_high(day: datetime.date) -> datetime.date:
    """Return the last of the month."""
    return (day.replace(day=1) + datetime.timedelta(32)).replace(day=1) - datetime.timedelta(1)


__all__ = ["CodedNumber", "LeveledCategory", "month_high", "month_low", "partition_metrics"]


def n_linked(records: Sequence[Sequence[str | None]]) -> int:
    """Return the number of released records of which a pseudonym occurs in another record, in any column.

    Records are lists of their pseudonyms by column.
    """
    count = 0
    for i, own_part in enumerate(records):
        others = {p for j, pseudonyms in enumerate(records) if j != i for p in pseudonyms if p is not None}
        count += any(p in others for p in own_part if p is not None)
    return count
