"""Local search: dissolve a few neighbouring classes and cut them again; keep the result if it loses less.

Classes are adjacent entries, (tuple, count), with equal tuples of a class together; class c has the entries
starts[c]:starts[c + 1]. A set of records is also split in two classes that both meet the privacy model.
"""

import numpy as np

from dbanon.kernels.allocate import empty_int32, empty_int64, empty_table, zeros
from dbanon.kernels.jit import kernel, kernel_part
from dbanon.kernels.loss import begin_class, pair_loss, widen_class
from dbanon.kernels.model_check import is_valid_group
from dbanon.kernels.model_gathering import can_join, count_values
from dbanon.kernels.optimal_cut import INFINITE_LOSS, allocate_path, cut_sequence
from dbanon.kernels.random_orders import draw_random_line, line_position, random_below
from dbanon.kernels.sorting import sort_entries

CARVED_PERCENT = 20
"""Percentage of small sets split by `carve_class`, if a model constrains more than the number of records."""

SIZE_OF_MOVE = 16
"""A set of more than this times `min_size` records counts as several moves, because its move takes longer."""


@kernel_part
def carve_class(records, m, size, rest, measure, record_model, person_model, scratch, span):
    """Reorder records[:m] in place: first a class of `size` records, then the rest in order; return the loss of both.

    The class takes records in order, skipping those with which it could no longer meet `record_model`. Equal tuples
    should be adjacent. Whether class and rest meet the models is checked afterwards.

    Args:
        records: Tuple of each record.
        m: Number of records.
        size: Records of the class.
        rest: Scratch.
        measure: `LossArrays`.
        record_model, person_model: k and the privacy models (see `model_check.is_valid_group`).
        scratch: `ModelScratch`.
        span: Scratch.

    Returns:
        The total loss of the class and the rest, or INFINITE_LOSS if either misses the models or the class has fewer
        than `size` records.
    """
    columns = 0
    if record_model is not None:
        columns = len(record_model.values)
    distinct = zeros(columns)
    scratch.counts[:] = 0
    n_taken, n_rest = np.int64(0), np.int64(0)
    for i in range(m):
        tuple_id = records[i]
        joins = n_taken < size
        if record_model is not None:
            values, rules = record_model.values, record_model.rules
            joins = joins and can_join(tuple_id, values, scratch.counts, n_taken, size, rules, distinct, scratch.extra)
            if joins:
                count_values(tuple_id, values, scratch.counts, rules, distinct)
        if joins:
            records[n_taken] = tuple_id
            n_taken += 1
        else:
            rest[n_rest] = tuple_id
            n_rest += 1
    for i in range(n_rest):
        records[n_taken + i] = rest[i]
    if n_taken < size:
        return INFINITE_LOSS
    front = np.int64(0)
    for first, end in ((front, n_taken), (n_taken, m)):
        if not is_valid_group(records, first, end, record_model, person_model, scratch.counts, scratch.extra):
            return INFINITE_LOSS
    return class_loss(records, front, n_taken, measure, span) * n_taken + (
        class_loss(records, n_taken, m, measure, span) * (m - n_taken)
    )


@kernel_part
def class_loss(tuple_ids, first, end, measure, span):
    """Return the loss per record of a class of the tuples tuple_ids[first:end], in which equal ones are adjacent.

    Args:
        tuple_ids: Numbers of tuples.
        first, end: The class has the tuples tuple_ids[first:end], at least one.
        measure: `LossArrays`.
        span: (attributes, 4) scratch, which becomes the class.
    """
    loss = begin_class(tuple_ids[first], measure, span)
    for i in range(first + 1, end):
        if tuple_ids[i] != tuple_ids[i - 1]:
            loss = widen_class(loss, tuple_ids[i], measure, span)
    return loss


@kernel_part
def copy_entries(order, n_set, tuple_ids, counts, starts, pool_items, pool_counts):
    """Copy the entries (tuple, number of records) of the first `n_set` classes in `order`; return how many entries.

    Args:
        order: Numbers of classes.
        n_set: How many classes of `order` are used.
        tuple_ids: Tuple of each entry.
        counts: Number of records of each entry.
        starts: (classes + 1,) where the entries of each class begin.
        pool_items, pool_counts: Output: tuple and number of records of each copied entry.
    """
    n = 0
    for c in order[:n_set]:
        for e in range(starts[c], starts[c + 1]):
            pool_items[n], pool_counts[n] = tuple_ids[e], counts[e]
            n += 1
    return n


@kernel_part
def expand_records(pool_items, pool_counts, n, records):
    """Write each entry's tuple number to `records` as often as the entry has records.

    Args:
        pool_items: Tuple of each entry.
        pool_counts: Number of records of each entry.
        n: Number of entries.
        records: Output: tuple of each record.
    """
    r = 0
    for e in range(n):
        for _ in range(pool_counts[e]):
            records[r] = pool_items[e]
            r += 1


@kernel_part
def append_unchanged(order, n_set, entries, n_classes, output):
    """Copy the first `n_set` classes in `order` unchanged to the output; return the new number of output classes.

    Args:
        order: Numbers of classes.
        n_set: How many classes of `order` are used.
        entries: `ClassEntries` of the input.
        n_classes: Number of classes in the output before.
        output: `ClassEntries` of the result; updated in place.
    """
    entry = output.starts[n_classes]
    for c in order[:n_set]:
        for e in range(entries.starts[c], entries.starts[c + 1]):
            output.tuple_ids[entry], output.counts[entry] = entries.tuple_ids[e], entries.counts[e]
            entry += 1
        output.sizes[n_classes] = entries.sizes[c]
        n_classes += 1
        output.starts[n_classes] = entry
    return n_classes


@kernel_part
def append_runs(records, m, run_starts, cuts, n_classes, output):
    """Append the runs that records[:m] were cut into to the output as classes; return the new number of output classes.

    Args:
        records: Tuple of each record, in order.
        m: Number of records.
        run_starts: run_starts[i] is where the run that ends at i begins.
        cuts: Scratch.
        n_classes: Number of output classes so far.
        output: `ClassEntries` of the result.
    """
    runs, end = 0, m
    while end > 0:
        cuts[runs] = end
        runs += 1
        end = run_starts[end]
    first = 0
    for run in range(runs - 1, -1, -1):
        entries = begin_entry = output.starts[n_classes]
        for r in range(first, cuts[run]):
            if entries > begin_entry and output.tuple_ids[entries - 1] == records[r]:
                output.counts[entries - 1] += 1
            else:
                output.tuple_ids[entries], output.counts[entries] = records[r], 1
                entries += 1
        output.sizes[n_classes] = cuts[run] - first
        n_classes += 1
        output.starts[n_classes] = entries
        first = cuts[run]
    return n_classes


@kernel_part
def order_classes(tuple_ids, starts, classes, blocks, line, codes, terms, lines, state):
    """Return all classes in the order along a new random line, each at the position of a random one of its records.

    If `blocks` is not empty, classes are ordered by block first.

    Args:
        tuple_ids: Tuple of each entry.
        starts: (classes + 1,) where the entries of each class begin.
        classes: Number of classes.
        blocks: Block of each tuple, or empty.
        line: (attributes, 3) scratch.
        codes: (tuples, attributes) codes.
        terms: `LossArrays.terms`.
        lines: Orders of each hierarchy's codes, and where those of an attribute begin.
        state: The state of the random numbers, which is advanced.
    """
    draw_random_line(line, terms, lines, state)
    line_places = empty_int64(classes)
    for c in range(classes):
        entry = starts[c] + random_below(starts[c + 1] - starts[c], state)
        line_places[c] = line_position(line, tuple_ids[entry], codes, terms, lines)
    order, scratch = empty_int32(classes), empty_int32(classes)
    for i in range(classes):
        order[i], scratch[i] = i, 0
    sort_entries(line_places, order, scratch, classes)
    if len(blocks) > 0:
        for i in range(classes):
            line_places[i], scratch[i] = blocks[tuple_ids[starts[order[i]]]], order[i]
            order[i] = i
        sort_entries(line_places, order, scratch, classes)
        return scratch
    return order


@kernel
def sweep_classes(entries, options, blocks, measure, record_model, person_model, scratch, lines, state, output):
    """Dissolve sets of classes along a random line and cut each set again; keep the result if it does not lose more.

    Classes are ordered along a random line, and a set is up to `width` consecutive classes of one block. A set is
    dissolved if its loss is above 0 and it has 2 * `min_size` to `max_set` records; at most `moves` sets are, beginning
    with the class in place `first_set`. A set of more than SIZE_OF_MOVE * `min_size` records counts as several moves.
    The records of a dissolved set are ordered by their distance from a random one of them (in `near_percent` % of the
    sets) or along a new random line (in the others), and cut into classes with the least loss. If `record_model` or
    `person_model` is given, sets of more than 8 * `min_size` records and CARVED_PERCENT % of the others are ordered by
    distance and split into only two classes instead. The input is not changed: all classes are written to `output`.

    Args:
        entries: `ClassEntries`.
        options: `SweepOptions`.
        blocks: Block of each tuple, or empty: all are in one block.
        measure: `LossArrays`.
        record_model, person_model: k and the privacy models (see `model_check.is_valid_group`); None if only the number
            of records counts.
        scratch: `ModelScratch`.
        lines: Several orders of each hierarchy's codes, and where those of an attribute begin.
        state: The state of the random numbers, which is advanced.
        output: `ClassEntries` of the result.

    Returns:
        Number of classes in the output, loss saved, and number of moves (dissolved sets, kept or not).
    """
    tuple_ids, counts, starts, sizes = entries
    n_input_classes, width, near_percent, first_set, moves, min_size, max_size, max_set = options
    d = measure.codes.shape[1]
    line = empty_table(d, np.int64(3))
    order = order_classes(tuple_ids, starts, n_input_classes, blocks, line, measure.codes, measure.terms, lines, state)
    pool_items, pool_counts, places = (
        empty_int32(max_set),
        empty_int32(max_set),
        empty_int64(max_set),
    )
    records, rest = empty_int32(max_set), empty_int32(max_set)
    cut_arrays = allocate_path(min_size, d, max_set)
    cuts = empty_int64(max_set // min_size + 2)
    has_model = record_model is not None or person_model is not None
    n_classes, loss_saved, n_moves = np.int64(0), np.int64(0), np.int64(0)
    output.starts[0] = 0
    i = 0
    while i < n_input_classes:
        n_set = min(width, n_input_classes - i)
        if i < first_set:
            n_set = min(n_set, first_set - i)
        if len(blocks) > 0:
            block_of = blocks[tuple_ids[starts[order[i]]]]
            while blocks[tuple_ids[starts[order[i + n_set - 1]]]] != block_of:
                n_set -= 1
        m, old_loss, new_loss = np.int64(0), np.int64(0), np.int64(INFINITE_LOSS)
        for c in order[i : i + n_set]:
            m += sizes[c]
        if i >= first_set and n_moves < moves and 2 * min_size <= m <= max_set:
            for c in order[i : i + n_set]:
                old_loss += class_loss(tuple_ids, starts[c], starts[c + 1], measure, cut_arrays.span) * sizes[c]
        if old_loss > 0:
            n_moves = min(n_moves + 1 + m // (SIZE_OF_MOVE * min_size), moves)
            n = copy_entries(order[i:], n_set, tuple_ids, counts, starts, pool_items, pool_counts)
            is_carved = has_model and (m > 8 * min_size or random_below(np.int64(100), state) < CARVED_PERCENT)
            if is_carved or random_below(np.int64(100), state) < near_percent:
                center = pool_items[random_below(n, state)]
                for e in range(n):
                    places[e] = pair_loss(pool_items[e], center, measure, True)
            else:
                draw_random_line(line, measure.terms, lines, state)
                for e in range(n):
                    places[e] = line_position(line, pool_items[e], measure.codes, measure.terms, lines)
            sort_entries(places, pool_items, pool_counts, n)
            expand_records(pool_items, pool_counts, n, records)
            if is_carved and (record_model is not None or person_model is not None):
                goal = min_size + random_below(max((m >> (1 + random_below(np.int64(4), state))) - min_size, 1), state)
                new_loss = carve_class(
                    records, m, goal, rest, measure, record_model, person_model, scratch, cut_arrays.span
                )
                cut_arrays.back[m], cut_arrays.back[goal] = goal, 0
            else:
                new_loss = cut_sequence(
                    records,
                    m,
                    min_size,
                    max_size,
                    np.int64(-1),
                    measure,
                    record_model,
                    person_model,
                    scratch,
                    cut_arrays,
                )
        if old_loss > 0 and new_loss <= old_loss:
            loss_saved += old_loss - new_loss
            n_classes = append_runs(records, m, cut_arrays.back, cuts, n_classes, output)
        else:
            n_classes = append_unchanged(order[i:], n_set, entries, n_classes, output)
        i += n_set
    return n_classes, loss_saved, n_moves


@kernel
def class_losses(tuple_ids, starts, sizes, classes, measure):
    """Return the summed loss of all records of each class, as an array.

    Args:
        tuple_ids: Tuple of each entry.
        starts: (classes + 1,) where the entries of each class begin.
        sizes: (classes,) number of records.
        classes: Number of classes.
        measure: `LossArrays`.
    """
    losses = empty_int64(classes)
    span = empty_table(measure.codes.shape[1], np.int64(4))
    for c in range(classes):
        losses[c] = class_loss(tuple_ids, starts[c], starts[c + 1], measure, span) * sizes[c]
    return losses
