"""What the records of classes span, where a system publishes more."""

from dbanon.kernels.jit import kernel
from dbanon.kernels.streams.class_loss import begin, widen


@kernel
def span(class_ids, values, attributes, old, begun, lows, highs):
    """Make the classes from `old` on as narrow as the records that left with them (class_ids, -1 and less for none).

    begun (classes,): scratch, false.
    """
    for t in range(len(class_ids)):
        c = class_ids[t]
        if c < old:
            continue
        if begun[c]:
            widen(values[t], lows[c], highs[c], attributes)
        else:
            begin(values[t], lows[c], highs[c], attributes)
            begun[c] = True
