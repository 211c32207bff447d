"""Checks whether a group of records meets the whole privacy model.

A model has one of two forms, `record_model` and `person_model`; the other is None and is not compiled. If both are
None, only the number of records counts.

`record_model` is a `RecordModel`. `person_model` is a `PersonModel`: distinct persons count, or a column is checked
within equal values of the other columns; then a model row is a record.
"""

import numpy as np

from dbanon.kernels.allocate import empty_int64
from dbanon.kernels.jit import kernel_part
from dbanon.kernels.model_gathering import is_column_valid, is_valid
from dbanon.kernels.sorting import sort_values


@kernel_part
def is_valid_group(model_rows, first, end, record_model, person_model, counts, extra):
    """Return whether the records model_rows[first:end] form a group that meets k and the privacy models.

    If both `record_model` and `person_model` are None, only the number of records counts: then True is returned, and
    the caller has to check the number.

    Args:
        model_rows: Rows of the models' arrays, one for each record.
        first, end: The records are model_rows[first:end].
        record_model: `RecordModel` if every record counts in the models, else None.
        person_model: `PersonModel` if distinct persons count in the models, else None.
        counts: Scratch: int64, one entry per sensitive value.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """
    if record_model is not None:
        if end - first < record_model.k:
            return False
        counts[:] = 0
        add_to_group(model_rows, first, end, record_model, None, counts)
        return is_valid(counts, end - first, record_model.rules, extra)
    if person_model is not None:
        return _is_valid_by_persons(model_rows, first, end, person_model, counts, extra)
    return True


@kernel_part
def _is_valid_by_persons(model_rows, first, end, person_model, counts, extra):
    """Return whether model_rows[first:end] have k distinct persons and meet the models of sensitive columns by part.

    A part is the records with equal values of the other sensitive columns.

    Args:
        model_rows: Rows of the models' arrays, one for each record.
        first, end: The records are model_rows[first:end].
        person_model: `PersonModel`.
        counts: Scratch: int64, one entry per sensitive value.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """
    model, columns = person_model, len(person_model.pair_ids)
    ids = empty_int64(end - first)
    if _distinct_ids(model_rows, first, end, model.body_ids[columns], ids) < model.k:
        return False
    persons = empty_int64(end - first)
    for s in range(columns):
        n_pairs = _distinct_ids(model_rows, first, end, model.pair_ids[s], ids)
        n_bodies = _distinct_ids(model_rows, first, end, model.body_ids[s], persons)
        i, body = 0, 0
        while i < n_pairs:
            part = model.pair_parts[ids[i]]
            counts[:] = 0
            total = 0
            while i < n_pairs and model.pair_parts[ids[i]] == part:
                counts[model.rules.value_starts[s] + model.pair_values[ids[i]]] += 1
                total += 1
                i += 1
            size = 0
            while body < n_bodies and model.body_parts[persons[body]] == part:
                size += 1
                body += 1
            if not is_column_valid(s, counts, size, total, model.rules, extra):
                return False
    return True


@kernel_part
def _distinct_ids(model_rows, first, end, id_of, ids):
    """Write the distinct ids of model_rows[first:end] (except -1) to `ids`, ascending; return their number.

    Args:
        model_rows: Rows of the models' arrays, one for each record.
        first, end: The records are model_rows[first:end].
        id_of: Id of each row, -1 for none.
        ids: Output: distinct ids, with space for end - first.
    """
    n_ids = np.int64(0)
    for i in range(first, end):
        if id_of[model_rows[i]] >= 0:
            ids[n_ids] = id_of[model_rows[i]]
            n_ids += 1
    sort_values(ids, n_ids)
    n_distinct = 0
    for i in range(n_ids):
        if i == 0 or ids[i] != ids[i - 1]:
            ids[n_distinct] = ids[i]
            n_distinct += 1
    return n_distinct


# --- a group that grows ----------------------------------------------------------------------------------

STAMP, PERSONS, FAILED, CHANGED, FIRST = 0, 1, 2, 3, 4
"""Places in `PersonModel.marks`: the number of the group; its persons; its parts that miss the model;
its parts that changed since they were judged; from FIRST on, the group in which each id of `body_ids`, and then each
id of `pair_ids`, was last counted."""

LAST_GROUP, SIZE, TOTAL, HAS_FAILED, IS_CHANGED, QUEUE = 0, 1, 2, 3, 4, 5
"""Columns of `PersonModel.parts`, with a row for each part of each column: the group it was last counted in, its
persons and their values there, and whether it misses the model; QUEUE has the changed parts of all rows."""


@kernel_part
def begin_group(record_model, person_model, counts):
    """Reset the counts for a new group without records, to which `add_to_group` adds. O(values).

    Args:
        record_model: `RecordModel` if every record counts in the models, else None.
        person_model: `PersonModel`, whose counts are reset; or None.
        counts: int64, one entry per sensitive value; set to 0 if `record_model` is given.
    """
    if record_model is not None:
        counts[:] = 0
    if person_model is not None:
        person_model.marks[STAMP] += 1
        person_model.marks[PERSONS] = person_model.marks[FAILED] = person_model.marks[CHANGED] = 0


@kernel_part
def add_to_group(model_rows, first, end, record_model, person_model, counts):
    """Count the records model_rows[first:end] as members of the current group, in place.

    O(records * columns); the first record of a part (equal values of the other sensitive columns) O(values) more.

    Args:
        model_rows: Rows of the models' arrays, one for each record.
        first, end: The records are model_rows[first:end].
        record_model: `RecordModel` if every record counts in the models, else None.
        person_model: `PersonModel`, whose counts are updated in place; or None.
        counts: int64 records of the group by sensitive value; updated in place.
    """
    if record_model is not None:
        values, value_starts = record_model.values, record_model.rules.value_starts
        for i in range(first, end):
            for s in range(len(values)):
                counts[value_starts[s] + values[s, model_rows[i]]] += 1
    if person_model is not None:
        marks, bodies = person_model.marks, person_model.body_ids
        stamp, columns, n_persons = marks[STAMP], len(bodies) - 1, marks[PERSONS]
        for i in range(first, end):
            person = bodies[columns, model_rows[i]]
            if person >= 0 and marks[FIRST + person] != stamp:
                marks[FIRST + person] = stamp
                n_persons += 1
        marks[PERSONS] = n_persons
        if len(person_model.tallies) > 0:
            for s in range(columns):
                _add_to_parts(s, model_rows, first, end, person_model)


@kernel_part
def _add_to_parts(s, model_rows, first, end, person_model):
    """Count records in the parts of column `s`, in place, except values that a person already has there.

    A part is the records with equal values of the other sensitive columns. Changed parts are queued for the next check.

    Args:
        s: Number of the sensitive column.
        model_rows: Rows of the models' arrays, one for each record.
        first, end: The records are model_rows[first:end].
        person_model: `PersonModel`, whose counts are updated in place.
    """
    marks, tallies, parts = person_model.marks, person_model.tallies, person_model.parts
    value_start, pair_marks = person_model.rules.value_starts[s], FIRST + len(person_model.body_parts)
    stamp, n_changed, row_of_first = marks[STAMP], marks[CHANGED], person_model.first_part[s]
    for i in range(first, end):
        pair = person_model.pair_ids[s, model_rows[i]]
        if pair < 0 or marks[pair_marks + pair] == stamp:
            continue
        marks[pair_marks + pair] = stamp
        body = person_model.body_ids[s, model_rows[i]]
        row = row_of_first + person_model.body_parts[body]
        if parts[row, LAST_GROUP] != stamp:
            parts[row, LAST_GROUP] = stamp
            parts[row, SIZE], parts[row, TOTAL], parts[row, HAS_FAILED], parts[row, IS_CHANGED] = 0, 0, 0, 0
            tallies[row, :] = 0
        if marks[FIRST + body] != stamp:
            marks[FIRST + body] = stamp
            parts[row, SIZE] += 1
        parts[row, TOTAL] += 1
        tallies[row, value_start + person_model.pair_values[pair]] += 1
        if parts[row, IS_CHANGED] == 0:
            parts[row, IS_CHANGED] = 1
            parts[n_changed, QUEUE] = row
            n_changed += 1
    marks[CHANGED] = n_changed


@kernel_part
def is_counted_group_valid(model_rows, first, end, record_model, person_model, counts, extra):
    """Return whether the counted group, which must be model_rows[first:end], meets k and the privacy models.

    The result is that of `is_valid_group`, from the counts of `add_to_group`. O(values) for each part (records with
    equal values of the other sensitive columns) that changed since the last call.

    Args:
        model_rows: Rows of the models' arrays, one for each record.
        first, end: The records are model_rows[first:end].
        record_model: `RecordModel` if every record counts in the models, else None.
        person_model: `PersonModel`, whose counts are updated in place; or None.
        counts: int64 records of the group by sensitive value.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.
    """
    if record_model is not None:
        return end - first >= record_model.k and is_valid(counts, end - first, record_model.rules, extra)
    if person_model is not None:
        marks, tallies, parts = person_model.marks, person_model.tallies, person_model.parts
        if marks[PERSONS] < person_model.k:
            return False
        if len(person_model.pair_ids) > 0 and len(tallies) == 0:  # there is no room for a row for each part
            return _is_valid_by_persons(model_rows, first, end, person_model, counts, extra)
        for i in range(marks[CHANGED]):
            row, s = parts[i, QUEUE], 0
            while row >= person_model.first_part[s + 1]:
                s += 1
            has_failed = (
                0
                if is_column_valid(s, tallies[row], parts[row, SIZE], parts[row, TOTAL], person_model.rules, extra)
                else 1
            )
            marks[FAILED] += has_failed - parts[row, HAS_FAILED]
            parts[row, HAS_FAILED], parts[row, IS_CHANGED] = has_failed, 0
        marks[CHANGED] = 0
        return marks[FAILED] == 0
    return True


@kernel_part
def check_group_from(model_rows, first, counted_from, end, record_model, person_model, counts, extra):
    """Count model_rows[first:counted_from] in addition, and check the group model_rows[first:end].

    Args:
        model_rows: Rows of the models' arrays, one for each record.
        first: Where the group begins.
        counted_from: Where the records that are counted already begin.
        end: Where the group ends (exclusive).
        record_model: `RecordModel` if every record counts in the models, else None.
        person_model: `PersonModel`, whose counts are updated in place; or None.
        counts: int64 records of the group by sensitive value; updated in place.
        extra: Scratch for the Earth Mover's Distance; None if no model needs it.

    Returns:
        Whether the group is valid; and the last place before `first` where a valid group up to `end` can begin, as each
        record adds one person at most (`first` itself if no persons are lacking).
    """
    add_to_group(model_rows, first, counted_from, record_model, person_model, counts)
    last_start = first
    if person_model is not None:
        last_start = first - max(person_model.k - person_model.marks[PERSONS], 0)
    return is_counted_group_valid(model_rows, first, end, record_model, person_model, counts, extra), last_start
