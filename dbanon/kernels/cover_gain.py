"""Records in large enough groups at a node of the generalization lattice, and their loss."""

from dbanon.kernels.arrays import COUNT_MASK
from dbanon.kernels.jit import kernel


@kernel
def covered_records(rows_and_keys, change, counts, min_size, table, places):
    """Count the records in groups of at least `min_size`, and sum their loss, after one attribute changes its level.

    Groups are formed by hash keys of the generalized tuples. Two groups whose keys agree in 32 bits and are adjacent in
    the table count as one.

    Args:
        rows_and_keys: Rows, keys and losses: pools, the group key of each, and the loss of a record of it so far.
        change: `LevelChange`.
        counts: Records by pool.
        min_size: Fewest records of a group.
        table: Hash table with space for twice the rows, rounded up to a power of two. Afterwards table[places[i]] &
            COUNT_MASK are the records of the group of rows[i], up to `min_size`.
        places: Output: slot of each row's group.

    Returns:
        Number of records in such groups, and their summed loss.
    """
    rows, keys, losses = rows_and_keys
    column, old_keys, new_keys, old_losses, new_losses = change
    size = 2
    while size < 2 * len(rows):
        size *= 2
    for slot in range(size):
        table[slot] = 0
    for i in range(len(rows)):
        pool = rows[i]
        key = keys[i] ^ old_keys[column[pool]] ^ new_keys[column[pool]]
        slot = key & (size - 1)
        while table[slot] != 0 and (table[slot] >> 32) != (key >> 32):
            slot = (slot + 1) & (size - 1)
        table[slot] = ((key >> 32) << 32) | min((table[slot] & COUNT_MASK) + counts[pool], min_size)
        places[i] = slot
    records = total = 0
    for i in range(len(rows)):
        if (table[places[i]] & COUNT_MASK) >= min_size:
            pool = rows[i]
            records += counts[pool]
            total += counts[pool] * (losses[i] + new_losses[column[pool]] - old_losses[column[pool]])
    return records, total
