"""Counts of the distinct persons and sensitive values of a group.

`requirement.clock[0]` numbers the counts and is increased when a new count begins. What is counted is marked with it
(see `RequirementArrays`).
"""

import numpy as np

from dbanon.kernels.jit import inlined_part, kernel_part


@inlined_part
def has_new_person(t, requirement, records):
    """Return whether a record is of a known person who is not counted yet."""
    return records.people[t] >= 0 and requirement.person_marks[records.people[t]] != requirement.clock[0]


@inlined_part
def has_new_value(t, s, requirement, records):
    """Return whether a record has a value of sensitive column `s` that is not counted yet."""
    code = records.sensitive[t, s]
    return code >= 0 and requirement.value_marks[s, code] != requirement.clock[0]


@inlined_part
def count_person(t, requirement, records):
    """Count the person of a record; return whether that is a new one."""
    is_new = has_new_person(t, requirement, records)
    if is_new:
        requirement.person_marks[records.people[t]] = requirement.clock[0]
    return is_new


@inlined_part
def count_value(t, s, requirement, records):
    """Count the value of a record in sensitive column `s`; return whether that is a new one."""
    is_new = has_new_value(t, s, requirement, records)
    if is_new:
        requirement.value_marks[s, records.sensitive[t, s]] = requirement.clock[0]
    return is_new


@kernel_part
def count_record(t, requirement, records, n_values):
    """Count the person and the sensitive values of a record; return whether the person is new.

    Values are added to `n_values` (columns,). Those of an unknown person do not count.
    """
    if records.people[t] >= 0:
        for s in range(len(requirement.min_values)):
            n_values[s] += count_value(t, s, requirement, records)
    return count_person(t, requirement, records)


@kernel_part
def missing_column(persons, requirement, n_values):
    """Return the first sensitive column with too few values in a group, -1 for none; -2 if persons are too few."""
    if persons < requirement.k:
        return np.int64(-2)
    for s in range(len(requirement.min_values)):
        if n_values[s] < requirement.min_values[s]:
            return np.int64(s)
    return np.int64(-1)


@inlined_part
def adds_needed_person(t, column, requirement, records):
    """Return whether a record is of a new person and has a new value in sensitive column `column` (-1: none needed)."""
    return has_new_person(t, requirement, records) and (column < 0 or has_new_value(t, column, requirement, records))


@kernel_part
def has_enough_records(x, end, marks, mark, requirement, records):
    """Return whether the records from `x` to `end` whose mark is `mark` suffice for a class."""
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
