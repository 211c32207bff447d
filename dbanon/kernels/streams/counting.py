"""Counts of the distinct persons and sensitive values of a group.

`requirement.clock[0]` numbers the counts and is increased when a new count begins. What is counted is marked with it
(see `RequirementArrays`).
"""

import numpy as np

from dbanon.kernels.jit import inlined_part, kernel_part


@inlined_part
def has_new_person(t, requirement, records):
    """Return whether record `t` is of a known person who is not counted yet in the current count.

    Args:
        t: Number of the record.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
    """
    return records.people[t] >= 0 and requirement.person_marks[records.people[t]] != requirement.clock[0]


@inlined_part
def has_new_value(t, s, requirement, records):
    """Return whether record `t` has a value (not NULL) of sensitive column `s` not counted yet in the current count.

    Args:
        t: Number of the record.
        s: Number of the sensitive column.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
    """
    code = records.sensitive[t, s]
    return code >= 0 and requirement.value_marks[s, code] != requirement.clock[0]


@inlined_part
def count_person(t, requirement, records):
    """Mark the person of record `t` as counted; return whether the person is known and was not counted before.

    Args:
        t: Number of the record.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
    """
    is_new = has_new_person(t, requirement, records)
    if is_new:
        requirement.person_marks[records.people[t]] = requirement.clock[0]
    return is_new


@inlined_part
def count_value(t, s, requirement, records):
    """Mark the value of record `t` in sensitive column `s` as counted; return whether it was not counted before.

    A NULL never counts.

    Args:
        t: Number of the record.
        s: Number of the sensitive column.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
    """
    is_new = has_new_value(t, s, requirement, records)
    if is_new:
        requirement.value_marks[s, records.sensitive[t, s]] = requirement.clock[0]
    return is_new


@kernel_part
def count_record(t, requirement, records, n_values):
    """Count the person and the sensitive values of record `t`; return whether the person is known and was not counted.

    The numbers of new values are added to `n_values` (columns,). Those of an unknown person do not count.

    Args:
        t: Number of the record.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
        n_values: (columns,) int64: distinct values of each sensitive column so far; updated in place.
    """
    if records.people[t] >= 0:
        for s in range(len(requirement.min_values)):
            n_values[s] += count_value(t, s, requirement, records)
    return count_person(t, requirement, records)


@kernel_part
def missing_column(persons, requirement, n_values):
    """Return what a group lacks: -2 for persons, else the first sensitive column with too few values, else -1.

    `persons` and `n_values` (columns,) are the numbers of distinct persons and values that the group has.

    Args:
        persons: Number of distinct persons of the group.
        requirement: `RequirementArrays`.
        n_values: (columns,) int64: its distinct values of each sensitive column.
    """
    if persons < requirement.k:
        return np.int64(-2)
    for s in range(len(requirement.min_values)):
        if n_values[s] < requirement.min_values[s]:
            return np.int64(s)
    return np.int64(-1)


@inlined_part
def adds_needed_person(t, column, requirement, records):
    """Return whether record `t` is of a new person and, unless `column` is negative, has a new value in that column.

    Args:
        t: Number of the record.
        column: The sensitive column whose values are needed, or a negative number.
        requirement: `RequirementArrays`.
        records: `RecordArrays`.
    """
    return has_new_person(t, requirement, records) and (column < 0 or has_new_value(t, column, requirement, records))


@kernel_part
def has_enough_records(x, end, marks, mark, requirement, records):
    """Return whether the records from `x` to `end` (exclusive) with marks[i] == `mark` together suffice for a class.

    They need k distinct known persons and enough distinct values of each sensitive column. `requirement.clock` is
    increased, so an earlier count is lost.

    Args:
        x: The first record.
        end: The end (exclusive).
        marks: An array by record.
        mark: The value of `marks` of the records that count.
        requirement: `RequirementArrays`, whose marks and clock are updated for counting.
        records: `RecordArrays`.
    """
    requirement.clock[0] += 1
    persons = np.int64(0)
    for i in range(x, end):
        if persons == requirement.k:
            break
        persons += marks[i] == mark and count_person(i, requirement, records)
    if persons < requirement.k:
        return False
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for i in range(x, end):
            if number == requirement.min_values[s]:
                break
            number += marks[i] == mark and records.people[i] >= 0 and count_value(i, s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True
