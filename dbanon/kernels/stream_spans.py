"""What the records of classes span, where a system publishes more."""

from __future__ import annotations

from dbanon.kernels.jit import kernel
from dbanon.kernels.stream_class import begin, widen


@kernel
def span(out, values, first, nodes, old, begun, lows, highs):
    """Makes the classes from `old` on as narrow as the records that left with them (out, -1 and less for none). begun
    (classes,): scratch, false."""
    for t in range(len(out)):
        c = out[t]
        if c < old:
            continue
        if begun[c]:
            widen(values[t], lows[c], highs[c], first, nodes)
        else:
            begin(values[t], lows[c], highs[c], first, nodes)
            begun[c] = True
