"""Bounds of the records of classes, for algorithms whose classes publish wider ones."""

from dbanon.kernels.jit import kernel
from dbanon.kernels.streams.class_loss import begin_class, widen_class


@kernel
def shrink_to_records(class_ids, values, attributes, first_new, is_begun, lows, highs):
    """Set the bounds of the classes from `first_new` on, in place, to those of the records published with them.

    A class without records keeps its bounds.

    Args:
        class_ids: (records,) int64: class of each record, below 0 for none.
        values: (records, attributes) float64 values.
        attributes: `AttributeArrays`.
        first_new: The first class.
        is_begun: (classes,) bool scratch, False at first.
        lows, highs: (classes, attributes) float64 bounds; updated in place.
    """
    for t in range(len(class_ids)):
        c = class_ids[t]
        if c < first_new:
            continue
        if is_begun[c]:
            widen_class(values[t], lows[c], highs[c], attributes)
        else:
            begin_class(values[t], lows[c], highs[c], attributes)
            is_begun[c] = True
