"""Declare the table functions of stream algorithms: three per algorithm."""

from collections.abc import Iterator
from functools import partial

from dbanon.algorithms.streams import streams
from dbanon.errors.example import Example
from dbanon.release.streams import plan
from dbanon.table_functions.table_function import KIND_BY_ENDING, TableFunction

_DESCRIPTIONS = {
    "release": "Replays a table as a stream and returns its records in the order in which they are published: "
    "generalized quasi-identifiers, class_id, the position at which the record arrived (arrived_at), the "
    "number of records that had arrived when it was published (published_at), the difference (delay), and "
    "whether it is suppressed. A reader who knows when a person was added can find the row by arrived_at "
    "and delay: exclude these columns from what you pass on.",
    "classes": "Returns one row per equivalence class: size, number of records that joined after it was first "
    "published (reused), when that was (published_at), published values, loss, and sensitive values with "
    "their counts; and one row for suppressed records.",
    "metrics": "Returns one row per metric: average loss and delay, share of suppressed records, share of records "
    "that joined a published class, and achieved k.",
}
_EXAMPLES = {
    "release": "SELECT * FROM {}('patients', {}) LIMIT 5;",
    "classes": "SELECT * FROM {}('patients', {}) ORDER BY loss DESC LIMIT 5;",
    "metrics": "SELECT metric, value, better FROM {}('patients', {});",
}


def _stream_functions() -> Iterator[TableFunction]:
    """Yield the table functions of all stream algorithms, three each: NAME, NAME_classes and NAME_metrics."""
    example_values = {"k": "k = 5", "delta": "delta = 50", "order_by": "order_by = 'patient_number'"}
    for algorithm in streams():
        example_arguments = ", ".join(example_values.get(p.name, p.example) for p in algorithm.parameters if p.example)
        for ending, kind in KIND_BY_ENDING.items():
            yield TableFunction(
                algorithm.name + ending,
                ("tbl",),
                algorithm.parameters,
                f"{algorithm.title}. {_DESCRIPTIONS[kind]}",
                partial(plan.stream_sql, algorithm, kind),
                Example(_EXAMPLES[kind].format(algorithm.name + ending, example_arguments)),
                stream_algorithm=algorithm.name,
            )


FUNCTIONS = _stream_functions
