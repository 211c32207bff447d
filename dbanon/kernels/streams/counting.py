"""Persons and sensitive values that a group has, each counted once.

A question is a number, `requirement.clock[0]`, which goes up when counting begins again. What it has counted is marked
with it (see `RequirementArrays`).
"""

import numpy as np

from dbanon.kernels.jit import inlined, part


@inlined
def has_new_person(t, requirement, records):
    """Return whether a record is of a known person who is not counted yet."""
    return records.people[t] >= 0 and requirement.person_marks[records.people[t]] != requirement.clock[0]


@inlined
def has_new_value(t, s, requirement, records):
    """Return whether a record has a value of sensitive column `s` that is not counted yet."""
    code = records.sensitive[t, s]
    return code >= 0 and requirement.value_marks[s, code] != requirement.clock[0]


@inlined
def count_person(t, requirement, records):
    """Count the person of a record; gives whether that is a new one."""
    is_new = has_new_person(t, requirement, records)
    if is_new:
        requirement.person_marks[records.people[t]] = requirement.clock[0]
    return is_new


@inlined
def count_value(t, s, requirement, records):
    """Count the value of a record in sensitive column `s`; gives whether that is a new one."""
    is_new = has_new_value(t, s, requirement, records)
    if is_new:
        requirement.value_marks[s, records.sensitive[t, s]] = requirement.clock[0]
    return is_new


@part
def count_record(t, requirement, records, own):
    """Count the person of a record, and its sensitive values in `own` (columns,), unless the person is unknown; gives
    whether the person is a new one."""
    if records.people[t] >= 0:
        for s in range(len(requirement.min_values)):
            own[s] += count_value(t, s, requirement, records)
    return count_person(t, requirement, records)


@part
def lacking(persons, requirement, own):
    """The first sensitive column of which a group has too few values, -1 for none; -2 where it has too few persons."""
    if persons < requirement.k:
        return np.int64(-2)
    for s in range(len(requirement.min_values)):
        if own[s] < requirement.min_values[s]:
            return np.int64(s)
    return np.int64(-1)


@inlined
def brings(t, column, requirement, records):
    """Return whether a record is of a new person and, where `column` is one, has a new value there."""
    return has_new_person(t, requirement, records) and (column < 0 or has_new_value(t, column, requirement, records))


@part
def suffices(x, end, marks, chosen, requirement, records):
    """Return whether those of the records from `x` to `end` that have the mark `chosen` are enough for a class."""
    requirement.clock[0] += 1
    persons = np.int64(0)
    for i in range(x, end):
        if persons == requirement.k:
            break
        persons += marks[i] == chosen and count_person(i, requirement, records)
    if persons < requirement.k:
        return False
    for s in range(len(requirement.min_values)):
        number = np.int64(0)
        for i in range(x, end):
            if number == requirement.min_values[s]:
                break
            number += marks[i] == chosen and records.people[i] >= 0 and count_value(i, s, requirement, records)
        if number < requirement.min_values[s]:
            return False
    return True
