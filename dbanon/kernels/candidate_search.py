"""Gathering where few tuples repeat: what no tree can leave out, a few attributes at a time can.

The attributes stand in parts. A record within a distance r of the seed is, in some part, within a share of r, whatever
shares add up to r. So of each part only the records within its share are looked at; the shares are those for which
that are fewest. What a part adds is bounded from below by regions, each some neighbouring codes of an attribute.

The record of least sum is one of a few candidates, whose sums are kept exact. All others grow by at least as much as
the least regions do; when they might have caught up, all sums are made anew.

`form` is (attributes, scales, place, step, region, nodes, way, ends, pairs), see dbanon.encoding.attribute_partitions.
"""

import numpy as np

from dbanon.kernels.heap import hold, pop, push
from dbanon.kernels.jit import kernel, part

FAR = 2**62
"""More than any distance."""

SHARES = 32
"""A distance is divided among the parts in so many shares."""


@part
def rounded(j, at, one, other, scales, way):
    """Return the distance of two values from the ancestor whose ways begin at `at`, by their steps."""
    return np.int64(np.rint(way[at + one] * way[at + other] * scales[j, 0] * scales[j, 1]))


@part
def apart(one, other, codes, form, limit):
    """Return the distance of two tuples, or more than the limit where it is more."""
    attributes, scales, place, step, region, nodes, way, _, pairs = form
    total = np.int64(0)
    for j in range(len(attributes)):
        a, b = np.int64(codes[one, j]), np.int64(codes[other, j])
        if a == b:
            continue
        values, at = attributes[j, 1], attributes[j, 3]
        if a == values or b == values:
            total += attributes[j, 2]
        elif attributes[j, 0] == 0:
            total += abs(place[at + a] - place[at + b])
        else:
            pair = attributes[j, 9] + region[at + a] * attributes[j, 8] + region[at + b]
            if pairs[pair, 0] == pairs[pair, 1]:
                total += pairs[pair, 0]
            else:
                node, last = place[at + min(a, b)], max(a, b)
                while last >= nodes[attributes[j, 4] + node, 1]:
                    node = np.int64(nodes[attributes[j, 4] + node, 0])
                ways = attributes[j, 5] + node * attributes[j, 6]
                total += rounded(j, ways, step[at + a], step[at + b], scales, way)
        if total > limit:
            break
    return total


@part
def ask_regions(seed, codes, form, lower):
    """What a record of each region adds at least to the distance to a seed."""
    attributes, place, region, ends, pairs = form[0], form[2], form[4], form[7], form[8]
    for j in range(len(attributes)):
        code, values, null, at = np.int64(codes[seed, j]), attributes[j, 1], attributes[j, 2], attributes[j, 3]
        begin, regions = attributes[j, 7], attributes[j, 8]
        lower[begin + regions - 1] = 0 if code == values else null
        for c in range(regions - 1):
            if code == values:
                lower[begin + c] = null
            elif attributes[j, 0] == 0:
                here = place[at + code]
                lower[begin + c] = max(ends[begin + c, 0] - here, here - ends[begin + c, 1], np.int64(0))
            else:
                lower[begin + c] = pairs[attributes[j, 9] + region[at + code] * regions + c, 0]


@part
def sum_distances(form, added, below, above, sums):
    """By value of each attribute: the sum of its distances to all seeds, of which `added` have each value."""
    attributes, scales, place, step, _, nodes, way = form[:7]
    for j in range(len(attributes)):
        values, null, at = attributes[j, 1], attributes[j, 2], attributes[j, 3]
        first, ways, steps = attributes[j, 4], attributes[j, 5], attributes[j, 6]
        missing, number, whole = added[at + values], np.int64(0), np.int64(0)
        for v in range(at, at + values):
            number += added[v]
            whole += place[v] * added[v]
        sums[at + values] = number * null
        if attributes[j, 0] == 0:
            count, total = np.int64(0), np.int64(0)
            for v in range(at, at + values):
                count += added[v]
                total += place[v] * added[v]
                sums[v] = place[v] * (2 * count - number) + whole - 2 * total + missing * null
            continue
        count = attributes[j, 10]
        for i in range(ways, ways + count * steps):
            below[i] = above[i] = 0
        for v in range(at, at + values):
            below[ways + place[v] * steps + step[v]] = added[v]
        for node in range(count - 1, 0, -1):
            for s in range(steps):
                below[ways + nodes[first + node, 0] * steps + s] += below[ways + node * steps + s]
        for node in range(1, count):
            here, up = ways + node * steps, ways + nodes[first + node, 0] * steps
            for s in range(steps):
                others = below[up + s] - below[here + s]
                if others > 0:
                    for own in range(steps):
                        above[here + own] += others * rounded(j, up, s, own, scales, way)
            for own in range(steps):
                above[here + own] += above[up + own]
        for v in range(at, at + values):
            here = ways + place[v] * steps
            sums[v] = above[here + step[v]] + missing * null
            for s in range(steps):
                others = below[here + s] - (added[v] if s == step[v] else 0)
                if others > 0:
                    sums[v] += others * rounded(j, here, s, step[v], scales, way)


@part
def refresh(index, kept):
    """Make the sums anew, and choose the candidates: the least sums of all that is left."""
    codes, left, form, parts, posts = index
    seen, candidates, found, state = kept
    added, below, above, sums, grown, there = seen
    attributes, begins, ends = form[0], posts[2], posts[3]
    sum_distances(form, added, below, above, sums)
    grown[:] = 0
    there[:] = 0
    for p in range(len(parts)):
        for i in range(parts[p, 3]):
            place = i
            if begins[parts[p, 2] + i] < ends[parts[p, 2] + i]:
                for j in range(parts[p, 1] - 1, parts[p, 0] - 1, -1):
                    there[attributes[j, 7] + place % attributes[j, 8]] = 1
                    place //= attributes[j, 8]
    size = np.int64(0)
    for t in range(len(left)):
        if left[t] == 0:
            continue
        total = np.int64(0)
        for j in range(len(attributes)):
            total += sums[attributes[j, 3] + codes[t, j]]
        if size == len(candidates) - 1 and (total > found[0] or (total == found[0] and t > candidates[0])):
            continue
        push(found, candidates, size, total, np.int64(t))
        size += 1
        if size == len(candidates):
            pop(found, candidates, size)
            size -= 1
    state[0], state[1] = size, -1
    if size == len(candidates) - 1:
        state[1] = found[0]


@part
def least(index, kept):
    """Return the candidate of least sum, or -1 where another record might have less."""
    left, (_, candidates, found, state) = index.left, kept
    grown, there = kept.seen[4], kept.seen[5]
    best = -1
    for c in range(state[0]):
        if left[candidates[c]] > 0 and (
            best < 0 or found[c] < found[best] or (found[c] == found[best] and candidates[c] < candidates[best])
        ):
            best = c
    if best < 0 or state[1] < 0:
        return best
    bound, attributes = state[1], index.form[0]
    for j in range(len(attributes)):
        growth, any_ = np.int64(0), False
        for c in range(attributes[j, 7], attributes[j, 7] + attributes[j, 8]):
            if there[c] and (not any_ or grown[c] < growth):
                growth, any_ = grown[c], True
        bound += growth
    return best if found[best] < bound else -1


@part
def add_seed(seed, index, kept, lower):
    """Add a seed to the sums of values, of regions and of candidates."""
    codes, left, form, _, _ = index
    seen, candidates, found, state = kept
    added, grown = seen[0], seen[4]
    attributes = form[0]
    for j in range(len(attributes)):
        added[attributes[j, 3] + codes[seed, j]] += 1
    for c in range(len(grown)):
        grown[c] += lower[c]
    c = 0
    while c < state[0]:
        t = candidates[c]
        if left[t] == 0:
            state[0] -= 1
            candidates[c], found[c] = candidates[state[0]], found[state[0]]
            continue
        found[c] += apart(seed, t, codes, form, FAR)
        c += 1


@part
def ask_parts(parts, form, lower, tables):
    """What a record adds at least in each part, by its regions there."""
    attributes = form[0]
    for p in range(len(parts)):
        begin = parts[p, 2]
        tables[begin] = 0
        size = 1
        for j in range(parts[p, 0], parts[p, 1]):
            regions = attributes[j, 8]
            for i in range(size - 1, -1, -1):
                for c in range(regions - 1, -1, -1):
                    tables[begin + i * regions + c] = tables[begin + i] + lower[attributes[j, 7] + c]
            size *= regions


@part
def share_out(parts, tables, begins, ends, inverse, fewest, choice, shares):
    """Share of a distance for the parts, SHARES in all, within which the fewest records are."""
    number = len(parts)
    fewest[:, :] = 0
    within = np.zeros(SHARES + 1, np.int64)
    for p in range(number):
        within[:] = 0
        for i in range(parts[p, 2], parts[p, 2] + parts[p, 3]):
            bucket = tables[i] * inverse
            if bucket < SHARES:
                within[np.int64(bucket) + 1] += ends[i] - begins[i]
        for x in range(1, SHARES + 1):
            within[x] += within[x - 1]
        for whole in range(SHARES + 1):
            fewest[p + 1, whole] = -1
            for x in range(whole + 1):
                if p == 0 and x < whole:
                    continue
                count = fewest[p, whole - x] + within[x]
                if fewest[p + 1, whole] < 0 or count < fewest[p + 1, whole]:
                    fewest[p + 1, whole], choice[p, whole] = count, x
    whole = SHARES
    for p in range(number - 1, -1, -1):
        shares[p] = choice[p, whole]
        whole -= shares[p]


@part
def look(seed, reach, wanted, index, tables, shares, inverse, heap_sums, heap_whose):
    """The nearest records among those within `reach` and some others: a heap of them, its size, the records held."""
    codes, left, form, parts, posts = index
    signature, order, begins, ends = posts
    size, held, number = np.int64(0), np.int64(0), len(parts)
    for p in range(number):
        if shares[p] == 0:
            continue
        for i in range(parts[p, 2], parts[p, 2] + parts[p, 3]):
            if tables[i] * inverse >= shares[p]:
                continue
            for place in range(begins[i], ends[i]):
                t = np.int64(order[p, place])
                total, is_new = np.int64(0), True
                for q in range(number):
                    least_there = tables[parts[q, 2] + signature[t, q]]
                    if q < p and least_there * inverse < shares[q]:
                        is_new = False  # seen in an earlier part
                        break
                    total += least_there
                worst = heap_sums[0] if held >= wanted else reach
                if not is_new or total > worst or left[t] == 0:
                    continue
                total = apart(seed, t, codes, form, worst)
                if total > worst or (held >= wanted and total == worst and t > heap_whose[0]):
                    continue
                size, held = hold(heap_sums, heap_whose, size, held, total, t, left, wanted)
    return size, held


@part
def drop_taken(parts, posts, left):
    """Leave out the tuples of which nothing is left."""
    _, order, begins, ends = posts
    for p in range(len(parts)):
        for i in range(parts[p, 2], parts[p, 2] + parts[p, 3]):
            keep = begins[i]
            for place in range(begins[i], ends[i]):
                if left[order[p, place]] > 0:
                    order[p, keep] = order[p, place]
                    keep += 1
            ends[i] = keep


@kernel
def gather_parts(index, kept, k, begin, members, seeds):
    """gather_steps for least sums, by parts (`PartIndex`, `CandidateArrays`): as many as fit in `seeds`."""
    codes, left, form, parts, posts = index
    seen, candidates, found, state = kept
    heap_sums, heap_whose = np.zeros(k + 1, np.int64), np.zeros(k + 1, np.int64)
    lower, tables = np.zeros(len(seen[4]), np.int64), np.zeros(len(posts[2]), np.int64)
    shares, choice = np.zeros(len(parts), np.int64), np.zeros((len(parts), SHARES + 1), np.int64)
    fewest = np.zeros((len(parts) + 1, SHARES + 1), np.int64)
    used, made, wanted = np.int64(0), 0, np.int64(k - 1)
    while made < len(seeds) and state[3] >= k and used + k + 2 <= len(members):
        if begin >= 0:
            seed, begin = np.int64(begin), np.int64(-1)
        else:
            best = least(index, kept)
            if best < 0:
                if 3 * state[4] > len(left):
                    drop_taken(parts, posts, left)
                    state[4] = 0
                refresh(index, kept)
                best = 0
                for c in range(state[0]):
                    if found[c] < found[best] or (found[c] == found[best] and candidates[c] < candidates[best]):
                        best = c
            seed = candidates[best]
        left[seed] -= 1
        ask_regions(seed, codes, form, lower)
        ask_parts(parts, form, lower, tables)
        size, reach = np.int64(0), state[2]
        while True:
            inverse = (SHARES - 0.5) / (reach + 1.0)
            share_out(parts, tables, posts[2], posts[3], inverse, fewest, choice, shares)
            size, held = look(seed, reach, wanted, index, tables, shares, inverse, heap_sums, heap_whose)
            if held >= wanted:
                break
            reach = 2 * reach + 1
        state[2] = heap_sums[0] + heap_sums[0] // 16
        members[used, 0], members[used, 1] = seed, 1
        used += 1
        surplus = held - wanted
        for i in range(size):
            t = heap_whose[i]
            count = left[t] - (surplus if i == 0 else 0)
            members[used, 0], members[used, 1] = t, count
            used += 1
            left[t] -= count
            if left[t] == 0:
                state[4] += 1
        members[used, 0] = -1
        used += 1
        state[3] -= k
        add_seed(seed, index, kept, lower)
        seeds[made] = seed
        made += 1
    return used, made
