"""The state of a stream between two records, as arrays that can be stored and restored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from dbanon.algorithms.base.registry import Check, Options
from dbanon.algorithms.streams.arrivals import Arrivals, StreamModel
from dbanon.encoding.encoded_table import Floats, Ints
from dbanon.kernels.streams.arrays import (
    LAST_ARRIVAL,
    N_ADDED,
    N_CLASSES,
    N_STORED,
    PENDING,
    ClassArrays,
    NearestScratch,
    RecordArrays,
    RequirementArrays,
)

OwnArrays = dict[str, npt.NDArray[Any]]
"""Arrays that only one algorithm stores, by name."""

WORK_PER_CHECK = 10**6
"""Number of records or clusters examined between two checks for interrupts: some milliseconds."""


@dataclass(frozen=True)
class StreamState:
    """The state of a stream between two records.

    Attributes:
        class_ids: (records,) class that each record was published with; PENDING or SUPPRESSED.
        published_at: (records,) number of records that had arrived then.
        lows: (classes, attributes) least positions that classes publish; classes of earlier runs come first.
        highs: (classes, attributes) greatest positions that classes publish.
        made_at: (classes,) number of records that had arrived when each class was made.
        reusable: Numbers of the classes that may be published again, oldest first.
        seen_ranges: (attributes, 2) least and greatest position so far.
        last_arrival: Place of the record that arrived last.
        own: Arrays that only this algorithm has; those by record have one place per record.
    """

    class_ids: Ints
    published_at: Ints
    lows: Floats
    highs: Floats
    made_at: Ints
    reusable: Ints
    seen_ranges: Floats
    last_arrival: int = 0
    own: OwnArrays = field(default_factory=dict)


@dataclass
class Workspace:
    """The arrays that every stream algorithm works on: the previous state and the records that arrived since.

    Attributes:
        arrivals: The records, pending ones first.
        model: The requirement of every class.
        options: Values of the parameters.
        check: Called often; raises an error to interrupt.
        previous: The state before; None if the stream begins.
        is_last: Whether the stream ends with these records.
        counters: The counters of the stream, by the positions N_ADDED to LAST_ARRIVAL.
        requirement: The model as arrays.
        records: The records as arrays.
        classes: The classes as arrays.
        attributes: The attributes as arrays.
    """

    arrivals: Arrivals
    model: StreamModel
    options: Options
    check: Check
    previous: StreamState | None
    is_last: bool

    def __post_init__(self) -> None:
        """Allocate the arrays, and copy the previous classes.

        Every class has at least k arrived records, so the arrays of classes are linear in these.
        """
        arrivals, model, previous = self.arrivals, self.model, self.previous
        records, width = arrivals.values.shape
        codes = int(arrivals.sensitive.max(initial=0)) + 1
        old = 0 if previous is None else len(previous.made_at)
        n_classes = old + records // model.min_records + 1
        self.classes = classes = ClassArrays(
            *(np.zeros(n_classes, np.int64) for _ in range(2)), *(np.zeros((n_classes, width)) for _ in range(2))
        )
        self.requirement = RequirementArrays(
            model.k,
            np.array(model.min_values, np.int64),
            np.zeros(int(arrivals.people.max(initial=0)) + 1, np.int64),
            np.zeros((arrivals.sensitive.shape[1], codes), np.int64),
            np.zeros(1, np.int64),
        )
        self.records = RecordArrays(
            arrivals.arrived,
            arrivals.values,
            arrivals.people,
            arrivals.sensitive,
            np.full(records, PENDING, np.int64),
            np.zeros(records, np.int64),
        )
        seen_ranges = np.tile([np.inf, -np.inf], (width, 1)) if previous is None else previous.seen_ranges.copy()
        self.attributes = arrivals.places.arrays(seen_ranges)
        self.counters = np.zeros(LAST_ARRIVAL + 1, np.int64)
        self.counters[N_ADDED] = arrivals.n_pending
        if previous is not None:
            classes.lows[:old], classes.highs[:old], classes.made_at[:old] = (
                previous.lows,
                previous.highs,
                previous.made_at,
            )
            classes.reusable[: len(previous.reusable)] = previous.reusable
            self.counters[[N_CLASSES, N_STORED, LAST_ARRIVAL]] = old, len(previous.reusable), previous.last_arrival

    @property
    def group_size(self) -> int:
        """The most records that the search for a group around one record finds: k and all required sensitive values."""
        return self.model.k + sum(self.model.min_values)

    def integer(self, name: str) -> int:
        """Return the value of the parameter `name` as an integer."""
        return int(str(self.options[name]))

    def number(self, name: str) -> float:
        """Return the value of the parameter `name` as a float."""
        return float(str(self.options[name]))

    def nearest_scratch(self) -> NearestScratch:
        """Return new scratch arrays with which kernels search for the nearest records."""
        size = self.group_size
        return NearestScratch(np.empty(len(self.arrivals.places.share)), np.empty(size, np.int64), np.empty(size))

    def with_meanings(self) -> Workspace:
        """Return a workspace in which sensitive values are replaced by their categories, if these are known.

        It begins again from the previous state; results of this workspace are not copied.
        """
        meanings = self.arrivals.sensitive if self.arrivals.meanings is None else self.arrivals.meanings
        return replace(self, arrivals=replace(self.arrivals, sensitive=meanings))

    def run(self, kernel: Callable[..., int], options: Any, *arrays: Any) -> None:
        """Call a kernel again and again until it has processed all records; check for interrupts between calls.

        Args:
            kernel: It takes counters, work to do, options, requirement, records, classes, attributes and `arrays`,
                changes them in place, and returns the work done.
            options: A named tuple.
            arrays: Named tuples and arrays that only this kernel has.
        """
        common = (self.requirement, self.records, self.classes, self.attributes)
        while kernel(self.counters, WORK_PER_CHECK, options, *common, *arrays) >= WORK_PER_CHECK:
            self.check()

    def state(self, **own: npt.NDArray[Any]) -> StreamState:
        """Return the state of the stream after the run, with the arrays `own` of the algorithm by name."""
        n_classes, classes = self.counters[N_CLASSES], self.classes
        return StreamState(
            self.records.class_ids, self.records.published_at, classes.lows[:n_classes], classes.highs[:n_classes],
            classes.made_at[:n_classes], classes.reusable[: self.counters[N_STORED]], self.attributes.seen_ranges,
            int(self.counters[LAST_ARRIVAL]), dict(own),
        )  # fmt: skip
