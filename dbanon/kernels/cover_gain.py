"""How many records stand in large enough groups on a node of the lattice of levels, and what they lose there."""

from dbanon.kernels.jit import kernel

COUNT = 0xFFFFFFFF
"""The bits of an entry that count records, up to the least of a group; the others are of its key."""


@kernel
def covered(some, change, counts, least, table, places):
    """Return records of groups of `least` and more, and their summed loss, where one attribute goes to another level.

    `some`: rows, keys and lost: items, with the key of the group of each and what a record of it loses so far;
    `change`: `LevelChange`; `counts`: records by item. Afterwards table[places[i]] & COUNT are the records of the
    group of rows[i], up to `least`. `table` has room for twice the rows, up to a power of two. Groups whose keys agree
    in 32 bits and lie side by side are taken for one.
    """
    rows, keys, lost = some
    column, was, now, lost_was, lost_now = change
    size = 2
    while size < 2 * len(rows):
        size *= 2
    for at in range(size):
        table[at] = 0
    for i in range(len(rows)):
        item = rows[i]
        key = keys[i] ^ was[column[item]] ^ now[column[item]]
        at = key & (size - 1)
        while table[at] != 0 and (table[at] >> 32) != (key >> 32):
            at = (at + 1) & (size - 1)
        table[at] = ((key >> 32) << 32) | min((table[at] & COUNT) + counts[item], least)
        places[i] = at
    records = total = 0
    for i in range(len(rows)):
        if (table[places[i]] & COUNT) >= least:
            item = rows[i]
            records += counts[item]
            total += counts[item] * (lost[i] + lost_now[column[item]] - lost_was[column[item]])
    return records, total
