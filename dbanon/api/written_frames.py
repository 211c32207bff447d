"""Check the frames that a call returns against its classes, which another statement computed."""

from typing import Any

import pyarrow as pa

from dbanon import errors
from dbanon.sqltext.messages import plural_form


def check_frames(function: str, release: pa.Table, classes: pa.Table, frame: Any) -> None:
    """Compare the release with its classes, and the returned frame with the release; raise an error if they differ.

    Args:
        function: The name of the function that was called.
        release: The released rows; their class is in the last column.
        classes: One row per class, with its number and size in the first two columns.
        frame: The released rows as they are returned.

    Raises:
        OutputDiffersError: Classes have other sizes, rows are in another order, or the frame has other rows.

    O(rows) time.
    """
    class_id, size = release.column_names[-1], classes.column_names[1]
    expected_counts = dict(zip(classes[0].to_pylist(), classes[size].to_pylist(), strict=True))
    expected_counts.pop(None, None)  # records that were suppressed
    counts = release.group_by(class_id).aggregate([([], "count_all")])
    counts_by_class = dict(zip(counts[class_id].to_pylist(), counts["count_all"].to_pylist(), strict=True))
    if counts_by_class != expected_counts:
        _refuse(function, "its classes have other sizes")
    numbers = release[class_id].to_numpy()
    if len(numbers) and (numbers[1:] < numbers[:-1]).any():
        _refuse(function, "its rows are not in the order of their classes")
    shape = getattr(frame, "shape", None)  # plans and streams of rows have none
    if isinstance(shape, tuple) and shape[0] != len(release):
        _refuse(
            function, f"it has {shape[0]} {plural_form(shape[0], 'row', 'rows')}, and the release has {len(release)}"
        )


def _refuse(function: str, difference: str) -> None:
    """Raise OutputDiffersError about the release, with the difference; `function` is the called function."""
    raise errors.OutputDiffersError(function, "the release", difference)
