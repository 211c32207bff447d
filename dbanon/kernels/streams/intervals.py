"""Bounds of the records of classes, for algorithms whose classes publish wider ones."""

from dbanon.kernels.jit import kernel
from dbanon.kernels.streams.class_loss import begin_class, widen_class


@kernel
def shrink_to_records(class_ids, values, attributes, first_new, is_begun, lows, highs):
    """Set the bounds of the classes from `first_new` on, in place, to those of the records published with them.

    A class without records keeps its bounds. class_ids: class of each record, below 0 for none. is_begun (classes,):
    scratch, false at first.
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
