"""Clusters of exactly k persons, for as long as a stream lasts, that emit a record of each at a time.

`home` (persons,) is the cluster of each person, -1 for none; `members` (clusters, k) are the persons of each cluster
and `ready` (clusters,) how many of them have a record that waits. The waiting records of a person are a list in the
order of arrival: `heads` and `tails` (persons,) are its ends, `link` (records,) the next one, -1 at the end. `loose`
(records,) is the person of a record whose person has no cluster, -1 for all other records.
"""

from __future__ import annotations

import numpy as np

from dbanon.kernels.jit import kernel, part
from dbanon.kernels.stream_class import begin, distance, widen
from dbanon.kernels.stream_nearest import WAITING, nearest
from dbanon.kernels.stream_window import LAST, SUPPRESSED, arrive, diverse, waiting


@kernel
def person_steps(
    state, most, ends, k, delta, need, arrived, values, people, sensitive, out, step, born, lows, highs, first, nodes,
    share, seen, weights, home, members, ready, heads, tails, link, loose, group, far, table, values_of, clock,
):  # fmt: skip
    """Lets records arrive until all have, or about `most` records were looked at; gives how many were. A record that is
    due makes a cluster of its person and the nearest that have none, or is suppressed.

    state: records that have arrived, oldest that may wait, classes, -, clusters, persons without a cluster of whom a
    record waits. group and far (k + values that are needed,): scratch.
    """
    steps = np.int64(0)
    while steps < most:
        x = waiting(state, out)
        steps += 1
        is_last = ends and state[0] == len(arrived)
        if x == state[0] or not (is_last or state[LAST] - arrived[x] + 1 >= delta):
            if state[0] == len(arrived):
                break
            t = arrive(state, arrived, values, first, seen)
            line_up(t, state, people, home, ready, heads, tails, link, loose)
            c = home[people[t]] if people[t] >= 0 else np.int64(-1)
            if c >= 0:
                steps += _emit(
                    c, arrived[t], state, k, need, values, sensitive, out, step, born, lows, highs, first, nodes,
                    members, ready, heads, tails, link, group, values_of, clock,
                )  # fmt: skip
            continue
        now, person = state[LAST], people[x]
        if person >= 0 and home[person] < 0 and state[5] >= k:
            steps += state[0] - x
            if _found(
                x, state, k, need, values, sensitive, out, first, nodes, share, seen, weights, loose, group, far, table
            ):
                _settle(state, k, people, home, members, ready, heads, link, loose, group)
                _leave(now, state, k, values, out, step, born, lows, highs, first, nodes, group)
                for j in range(k):
                    _strike(group[j], state, people, home, ready, heads, tails, link)
        if out[x] == WAITING:
            out[x], step[x] = SUPPRESSED, now
            if person >= 0:
                _strike(x, state, people, home, ready, heads, tails, link)
        if person >= 0 and home[person] >= 0:
            steps += _emit(
                home[person], now, state, k, need, values, sensitive, out, step, born, lows, highs, first, nodes,
                members, ready, heads, tails, link, group, values_of, clock,
            )  # fmt: skip
    return steps


@kernel
def take_up(state, people, home, ready, heads, tails, link, loose):
    """Lines up the records that wait already."""
    for t in range(state[0]):
        line_up(t, state, people, home, ready, heads, tails, link, loose)


@part
def line_up(t, state, people, home, ready, heads, tails, link, loose):
    """A record waits as the last one of its person."""
    person = people[t]
    if person < 0:
        return
    if heads[person] < 0:
        heads[person] = t
        if home[person] >= 0:
            ready[home[person]] += 1
        else:
            state[5] += 1
    else:
        link[tails[person]] = t
    tails[person] = t
    if home[person] < 0:
        loose[t] = person


@part
def _strike(t, state, people, home, ready, heads, tails, link):
    """A record waits no more."""
    person = people[t]
    if heads[person] == t:
        heads[person] = link[t]
    else:
        i = heads[person]
        while link[i] != t:
            i = link[i]
        link[i] = link[t]
        if tails[person] == t:
            tails[person] = i
    if heads[person] < 0:
        if home[person] >= 0:
            ready[home[person]] -= 1
        else:
            state[5] -= 1


@part
def _found(x, state, k, need, values, sensitive, out, first, nodes, share, seen, weights, loose, group, far, table):
    """Puts into `group` a record and those nearest to it of k - 1 other persons without a cluster; where these have too
    few sensitive values, first the nearest that have others. Gives whether there are such."""
    end = state[0]
    others = group[1:]
    number = nearest(
        x, x, end, k, values, loose, out, first, nodes, share, seen, weights, table, others, far
    )  # fmt: skip
    if number < k - 1:
        return False
    group[0] = x
    if len(need) > 0:
        enough = diverse(
            x, number, x, end, values, loose, sensitive, need, out, first, nodes, share, seen, weights, others
        )
        if enough != number:
            number = diverse(
                x, np.int64(0), x, end, values, loose, sensitive, need, out, first, nodes, share, seen, weights, others
            )
            if number < 0 or number > k - 1:
                return False
            while number < k - 1:
                others[number] = _next(x, number, end, values, out, first, nodes, share, seen, weights, loose, others)
                number += 1
    return True


@part
def _next(x, number, end, values, out, first, nodes, share, seen, weights, loose, others):
    """The nearest record to x of a person who is not among the first `number` of `others` (ties: the oldest)."""
    best, least = np.int64(-1), np.inf
    for i in range(x, end):
        if out[i] != WAITING or loose[i] < 0 or loose[i] == loose[x]:
            continue
        new = True
        for j in range(number):
            if loose[others[j]] == loose[i]:
                new = False
                break
        if new:
            away = distance(values[x], values[i], first, nodes, share, seen, weights)
            if away < least:
                best, least = np.int64(i), away
    return best


@part
def _settle(state, k, people, home, members, ready, heads, link, loose, group):
    """The persons of a group become a cluster, for good."""
    c = state[4]
    state[4] += 1
    state[5] -= k
    ready[c] = k
    for j in range(k):
        person = people[group[j]]
        home[person], members[c, j] = c, person
        t = heads[person]
        while t >= 0:
            loose[t] = -1
            t = link[t]


@part
def _emit(
    c, now, state, k, need, values, sensitive, out, step, born, lows, highs, first, nodes, members, ready, heads, tails,
    link, group, values_of, clock,
):  # fmt: skip
    """While each person of a cluster has a record that waits, their oldest leave together if they have enough sensitive
    values; gives how many records were looked at."""
    looked = np.int64(0)
    while ready[c] == k:
        for j in range(k):
            group[j] = heads[members[c, j]]
        looked += k
        if not _has_values(k, need, sensitive, group, values_of, clock):
            break
        _leave(now, state, k, values, out, step, born, lows, highs, first, nodes, group)
        for j in range(k):
            person = members[c, j]
            heads[person] = link[heads[person]]
            if heads[person] < 0:
                ready[c] -= 1
    return looked


@part
def _has_values(k, need, sensitive, group, values_of, clock):
    """Whether a group has as many values of each sensitive column as it needs."""
    clock[0] += 1
    for s in range(len(need)):
        number = np.int64(0)
        for j in range(k):
            code = sensitive[group[j], s]
            if code >= 0 and values_of[s, code] != clock[0]:
                values_of[s, code] = clock[0]
                number += 1
        if number < need[s]:
            return False
    return True


@part
def _leave(now, state, k, values, out, step, born, lows, highs, first, nodes, group):
    """A group leaves as a class, which is not published again."""
    new = state[2]
    begin(values[group[0]], lows[new], highs[new], first, nodes)
    for j in range(k):
        widen(values[group[j]], lows[new], highs[new], first, nodes)
        out[group[j]], step[group[j]] = new, now
    born[new] = now
    state[2] += 1
