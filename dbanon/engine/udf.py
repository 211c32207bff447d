"""The scalar functions that DuckDB calls: text or Arrow in, text or labels out. No thinking is done here.

They are module-level functions because DuckDB may call them after the connection that registered them is gone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import __version__, cluster, errors, session
from dbanon.cluster.runs import met
from dbanon.engine.arrow import items, known, numbers, packed
from dbanon.functions.answer import answer
from dbanon.learn import forest
from dbanon.models import constraint
from dbanon.models.demand import Demand
from dbanon.space import space

PARTS = pa.list_(pa.struct([("gid", pa.int64()), ("cluster", pa.int32()), ("first", pa.int32()), ("last", pa.int32())]))
WIDE = pa.list_(pa.struct([("cluster", pa.int32()), ("low", pa.list_(pa.int32())), ("high", pa.list_(pa.int32()))]))
DRAWN = pa.list_(
    pa.struct([("cluster", pa.int32()), ("seat", pa.int32()),
               ("code", pa.list_(pa.int32())), ("position", pa.list_(pa.float64()))])
)  # fmt: skip
ANSWER = pa.struct([("parts", PARTS), ("wide", WIDE), ("drawn", DRAWN), ("error", pa.string())])
SCORES = pa.list_(
    pa.struct(
        [("sensitive", pa.string()), ("place", pa.int32()), ("attribute", pa.string()), ("influence", pa.float64()),
         ("rank", pa.int32()), *((n, pa.float64()) for n in ("zeta", "sigma", "accuracy", "test_accuracy"))]
    )
)  # fmt: skip
INFLUENCE = pa.struct([("scores", SCORES), ("error", pa.string())])


def dbanon_plan(token: str, call: str, places: str) -> str:
    """The SQL of one call, or `!` and the text of an error.

    `call`: JSON of the function, the slots and the named arguments; `places`: JSON of current_database(),
    current_schema() and the search path.
    """
    try:
        session.watch_ctrl_c()
        return answer(session.get(token), json.loads(call), json.loads(places))
    except errors.DbanonError as error:
        return f"!{error}"
    except RuntimeError as error:
        return f"!{error}"


def dbanon_cluster(request: Any, rows: Any, *domains: Any) -> Any:
    """STRUCT(parts STRUCT(gid, cluster, first, last)[], wide STRUCT(cluster, low[], high[])[], drawn STRUCT(cluster,
    seat, code[], position[])[], error VARCHAR) of each table of groups of equal records.

    A part says which cluster the records first to last (from 1) of a group belong to; `wide` has the least and greatest
    codes of clusters that are published with more than their records span; `drawn` what the seats of a cluster are
    published with, where that is noise. DuckDB calls it with one table; with none where the source is empty, and with
    several equal ones where the call stands in a correlated subquery.
    """
    return _each(request, rows, domains, _clusters, ANSWER)


def dbanon_influence(request: Any, rows: Any, *domains: Any) -> Any:
    """STRUCT(scores STRUCT(...)[], error VARCHAR) of each table of groups: what attributes tell of sensitive values."""
    return _each(request, rows, domains, _influences, INFLUENCE)


def _each(request: Any, rows: Any, domains: tuple[Any, ...], answer: Callable[..., Any], type_: Any) -> Any:
    """The answers for all tables, or their errors as text."""
    request, rows = _array(request), _array(rows)
    columns = [_array(domain) for domain in domains]
    answers = []
    for i in range(len(request)):
        asked = json.loads(request[i].as_py())
        try:
            answers.append(answer(asked, rows[i].values, [of.slice(i, 1) for of in columns]))
        except KeyboardInterrupt:  # DuckDB runs UDFs on the main thread too
            answers.append(pa.array([{"error": str(errors.Interrupted(asked["function"]))}], type_))
        except errors.DbanonError as error:
            answers.append(pa.array([{"error": str(error)}], type_))
    return pa.concat_arrays(answers) if answers else pa.array([], type_)


def _clusters(asked: dict[str, Any], records: Any, domains: list[Any]) -> Any:
    """The clusters of one table, as an array of one."""
    if records is None:  # a refresh to which nothing came
        return pa.array([{"parts": []}], ANSWER)
    table, order = _table(asked, records, domains)
    algorithm = cluster.find(asked["algorithm"])
    limits = constraint.AtLeast(asked["k"], tuple(Demand(**fields) for fields in asked["models"]), asked["joint"])
    if asked["forest"] is not None:
        table = _influenced(table, asked)
    runs = _runs(asked, table, limits)
    noise, values = asked["noise"], None
    if noise is not None:
        key = _noise_key(asked, table, _whole(records, "tie")[order])
        labels = cluster.renumbered(runs.labels(), key)
        values = _drawn(cluster.drawn(table, labels, cluster.Noise(**noise), key))
        runs = cluster.Runs.from_labels(table, labels)
    parts = _parts(_whole(records, "gid")[order], _whole(records, "size")[order], runs)
    found = _one(parts, PARTS)
    wide = cluster.widened(algorithm, table, limits, asked["options"], runs)
    return pa.StructArray.from_arrays(
        [
            found,
            pa.array([_wide(*wide)], WIDE) if wide else pa.nulls(1, WIDE),
            pa.nulls(1, DRAWN) if values is None else _one(values, DRAWN),
            pa.nulls(1, pa.string()),
        ],
        fields=list(ANSWER),
    )


def _one(rows: Any, type_: Any) -> Any:
    """An array of one list."""
    return pa.ListArray.from_arrays(packed(np.array([0, len(rows)], np.int32)), rows, type=type_)


def _drawn(found: cluster.Drawn) -> Any:
    """Rows of `drawn`."""
    rows, width = found.code.shape
    ends = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
    code, position = found.code.reshape(-1), found.position.reshape(-1)
    lists = (pa.array(code, mask=code < 0), pa.array(position, mask=np.isnan(position)))
    arrays = [pa.array(found.cluster.astype(np.int32)), pa.array(found.seat.astype(np.int32))]
    arrays += [pa.ListArray.from_arrays(ends, values) for values in lists]
    return pa.StructArray.from_arrays(arrays, fields=list(DRAWN.value_type))


def _noise_key(asked: dict[str, Any], table: space.Space, tie: Any) -> bytes:
    """What noise is drawn by: a hash of all that is clustered and published. The same table has the same noise, which
    asking again does not average out; who does not know the table cannot draw it."""
    hashed = hashlib.blake2b(json.dumps(asked["noise"], sort_keys=True).encode(), digest_size=32)
    hashed.update(_content(asked, table))
    hashed.update(np.ascontiguousarray(tie).data)
    return hashed.digest()


def _wide(clusters: Any, low: Any, high: Any) -> list[dict[str, object]]:
    """Rows of `wide`."""
    rows = zip(clusters.tolist(), low.tolist(), high.tolist(), strict=True)
    return [{"cluster": c, "low": first, "high": last} for c, first, last in rows]


def _influences(asked: dict[str, Any], records: Any, domains: list[Any]) -> Any:
    """The influences of one table's attributes, as an array of one."""
    table, _ = _table(asked, records, domains)
    rows = []
    for place, (column, found) in enumerate(zip(asked["sensitive"], _forests(table, asked), strict=True)):
        scores = found.scores(asked["forest"]["score"]).tolist()
        accuracies = {n: None if np.isnan(v) else v for n, v in vars(found).items() if n.endswith("accuracy")}
        rows += [
            accuracies | {"sensitive": column, "place": place, "attribute": attribute["name"], "influence": scores[j],
                     "rank": rank, "zeta": found.zeta[j], "sigma": found.sigma[j]}
            for j, (attribute, rank) in enumerate(zip(asked["attributes"], forest.ranks(scores), strict=True))
        ]  # fmt: skip
    return pa.array([{"scores": rows}], INFLUENCE)


def _forests(table: space.Space, asked: dict[str, Any]) -> list[forest.Influence]:
    """The influences on each sensitive column, from the cache where they are known."""
    current = session.get(asked["session"])
    settings = forest.Settings(**asked["forest"]["settings"])
    found = []
    with session.interruptible(current, lambda: errors.Interrupted(asked["function"])) as check:
        step = session.stepped(current, check, settings.trees * len(table.sensitive))
        for sensitive in table.sensitive:
            packed = current.cache.get(
                forest.key(table, sensitive, settings),
                lambda of=sensitive: forest.influence(table, of, settings, step).packed(),  # type: ignore[misc]
            )
            found.append(forest.Influence.unpacked(packed))
    return found


def _influenced(table: space.Space, asked: dict[str, Any]) -> space.Space:
    """The space with the attributes' influence, and weights by it where that is asked for."""
    scores = forest.combined([f.scores(asked["forest"]["score"]) for f in _forests(table, asked)])
    factors = forest.weights(scores) if asked["forest"]["weigh"] else [1.0] * len(scores)
    attributes = tuple(
        replace(a, influence=float(score), weight=a.weight * factor)
        for a, score, factor in zip(table.attributes, scores, factors, strict=True)
    )
    return replace(table, attributes=attributes)


def _parts(gid: space.Ints, sizes: space.Ints, runs: cluster.Runs) -> Any:
    """The runs cut where groups end; groups, in canonical order, are tuples or parts of them."""
    counts, group, run = met(sizes, runs.counts)
    last = np.cumsum(counts) - (np.cumsum(sizes) - sizes)[group]
    arrays = [gid[group], runs.clusters[run], (last - counts + 1).astype(np.int32), last.astype(np.int32)]
    return pa.StructArray.from_arrays([packed(a) for a in arrays], fields=list(PARTS.value_type))


def _whole(records: Any, name: str) -> space.Ints:
    """A field without NULLs as integers."""
    return np.asarray(numbers(records.field(name)), np.int64)


def _array(column: Any) -> Any:
    """A column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _attribute(kind: dict[str, Any], domain: Any) -> space.Attribute:
    """The attribute of a domain: a list of positions, or a struct of two lists of nodes."""
    if kind["kind"] == "number":
        integral, weight, bare = kind["integral"], kind["weight"], kind["bare"]
        if not pa.types.is_struct(domain.type):
            return space.Number(_flat(domain, np.float64), integral, weight, bare=bare)
        ranks = (_flat(domain.field(end), np.int32) for end in ("low", "high"))
        ends = space.Ends(*ranks, *(_flat(domain.field(end), np.float64) for end in ("below", "above")))
        positions = _flat(domain.field("place"), np.float64)
        return space.Number(positions, integral, weight, ends, bare, magnitudes=_numbers(domain, "magnitude"))
    parent = numbers(items(domain.field("parent")), -1).astype(np.int32)
    node = _flat(domain.field("value"), np.int32)
    magnitudes = _numbers(domain, "magnitude")
    return space.Tree(parent, node, kind["weight"], kind["max_level"], kind["round"], magnitudes=magnitudes)


def _flat(lists: Any, type_: Any) -> Any:
    """The items of one list."""
    return numbers(items(lists)).astype(type_)


def _sensitive(records: Any, i: int, domain: Any) -> tuple[space.Codes, int, space.Tree | None]:
    """Codes of a sensitive column by row (NULL the code after the last), its number of values and its hierarchy."""
    node = _flat(domain.field("value"), np.int32)
    codes = np.asarray(numbers(records.field(f"s{i}"), len(node)), np.int32)
    parents = numbers(items(domain.field("parent")), -1).astype(np.int32)
    return codes, len(node), space.Tree(parents, node) if len(parents) else None


def _numbers(domain: Any, name: str) -> Any:
    """A list of numbers by code, where it was asked for."""
    return _flat(domain.field(name), np.float64) if name in [f.name for f in domain.type] else None


def _codes(records: Any, j: int, attribute: space.Attribute) -> space.Codes:
    """Codes of one attribute by row; NULL is the code after the last."""
    return np.asarray(numbers(records.field(f"c{j}"), attribute.values), np.int32)


def _persons(records: Any) -> space.Ints:
    """Dense numbers of persons by row, -1 where unknown."""
    person = records.field("person")
    _, dense = np.unique(numbers(person, 0), return_inverse=True)
    dense[~known(person)] = -1
    return np.asarray(dense, np.int64)


def _table(asked: dict[str, Any], records: Any, domains: list[Any]) -> tuple[space.Space, space.Ints]:
    """The space of all records, and the canonical order of the groups."""
    first = len(asked["attributes"])
    attributes = [_attribute(kind, of) for kind, of in zip(asked["attributes"], domains[:first], strict=True)]
    columns = [_codes(records, j, a) for j, a in enumerate(attributes)]
    persons = _persons(records) if asked["person"] else None
    tie = numbers(records.field("tie"))
    tested = [_sensitive(records, i, domain) for i, domain in enumerate(domains[first:])]
    table, order = space.build(attributes, columns, tie, persons, _whole(records, "size"), tested)
    sensitive = tuple(
        replace(s, positions=_numbers(d, "place")) for s, d in zip(table.sensitive, domains[first:], strict=True)
    )
    return replace(table, sensitive=sensitive), order


def _runs(asked: dict[str, Any], table: space.Space, limits: constraint.AtLeast) -> cluster.Runs:
    """The clusters of all records, from the cache where they are known."""
    current = session.get(asked["session"])
    moves, search = asked["improve"], current.search
    budget = None if moves is None and search is None else cluster.Budget(moves or 0)
    if budget is not None and search is not None:
        budget.seconds, budget.keep = search.seconds, True

    def compute() -> cluster.Runs:
        with session.interruptible(current, lambda: errors.Interrupted(asked["function"])) as check:
            return cluster.run(
                cluster.find(asked["algorithm"]),
                table,
                limits,
                asked["options"],
                cluster.Names(tuple(a["name"] for a in asked["attributes"]), asked["sensitive"], asked["function"]),
                cluster.Refinement(asked["suppress"], asked["heights"], budget, current.told),
                check,
                cell=asked["cell"],
            )

    if search is None or budget is None:
        found: cluster.Runs = current.cache.get(_content(asked, table), compute)
        return found
    runs = compute()
    search.moves = budget.done
    current.cache.put(_content({**asked, "improve": budget.done}, table), runs)
    return runs


def _content(asked: dict[str, Any], table: space.Space) -> bytes:
    """128-bit hash of all that clusters follow from: version, algorithm, parameters, attributes, tuples, persons."""
    told = {
        key: asked[key]
        for key in (
            "algorithm",
            "k",
            "options",
            "attributes",
            "models",
            "joint",
            "suppress",
            "improve",
            "heights",
        )
    }
    # Whether a long run is accepted changes no cluster, and must not draw other noise either.
    told["options"] = {name: value for name, value in asked["options"].items() if name != "large"}
    if asked["cell"] is not None:  # else the hash, by which noise is drawn, is what it was without cells
        told["cell"] = asked["cell"]
    told["influence"] = [[a.influence, a.weight] for a in table.attributes]
    content = hashlib.blake2b(json.dumps([__version__, told], sort_keys=True).encode(), digest_size=16)
    arrays: list[Any] = [table.codes, table.counts]
    if table.persons is not None:
        arrays.append(table.persons.astype(np.int64))  # noise is drawn by numbers of this width
    for sensitive in table.sensitive:
        arrays += [sensitive.codes, sensitive.whole]
        if sensitive.tree is not None:
            arrays += [sensitive.tree.parent, sensitive.tree.node]
    for attribute in table.attributes:
        if isinstance(attribute, space.Number):
            arrays.append(attribute.positions)
            if attribute.ends is not None:
                arrays += [attribute.ends.low, attribute.ends.high, attribute.ends.below, attribute.ends.above]
        else:
            arrays += [attribute.parent, attribute.node]
        if attribute.magnitudes is not None:
            arrays.append(attribute.magnitudes)
    for array in arrays:
        content.update(f"{array.dtype}{array.shape}".encode())
        content.update(np.ascontiguousarray(array).data)
    return content.digest()
