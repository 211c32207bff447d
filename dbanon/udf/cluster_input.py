"""What DuckDB gives a UDF, groups of equal records with the domains of their codes, as a space; what it gets back."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import errors
from dbanon.encoding import encoded_table
from dbanon.runtime import interrupts, session
from dbanon.udf.arrow_columns import items, known, numbers, packed


def table(
    asked: dict[str, Any], records: Any, domains: list[Any], *, tied: bool = True
) -> tuple[encoded_table.EncodedTable, encoded_table.Ints]:
    """The space of all records, and the canonical order of the groups; unless `tied`, equal codes are in the order of
    persons alone."""
    first = len(asked["attributes"])
    attributes = [attribute_of(kind, of) for kind, of in zip(asked["attributes"], domains[:first], strict=True)]
    columns = [codes_of(records, j, a) for j, a in enumerate(attributes)]
    persons = persons_of(records) if asked["person"] else None
    tie = numbers(records.field("tie")) if tied else np.zeros(len(records), np.uint64)
    tested = [_sensitive(records, i, domain) for i, domain in enumerate(domains[first:])]
    made, order = encoded_table.encode_table(attributes, columns, tie, persons, whole(records, "size"), tested)
    sensitive = tuple(
        replace(s, positions=_numbers(d, "place"), value_counts=_whole(d, s))
        for s, d in zip(made.sensitive, domains[first:], strict=True)
    )
    return replace(made, sensitive=sensitive, total=asked.get("records", made.total)), order


def _whole(domain: Any, sensitive: encoded_table.SensitiveColumn) -> encoded_table.Ints:
    """How many records (persons) of the run have each value; of a part, those of the larger table, as it is told."""
    if "whole" not in [f.name for f in domain.type]:
        return sensitive.value_counts
    return np.asarray(flat(domain.field("whole"), np.int64))


def whole(records: Any, name: str) -> encoded_table.Ints:
    """Return a field without NULLs as integers."""
    return np.asarray(numbers(records.field(name)), np.int64)


def features(records: Any, name: str = "f") -> Any:
    """Return the lists of numbers of rows, each as long, as a matrix."""
    flat = records.field(name).flatten().to_numpy(zero_copy_only=False).astype(np.float64)
    return flat.reshape(len(records), -1 if len(records) else 0)


def array(column: Any) -> Any:
    """Return a column as one array."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def each(request: Any, rows: Any, domains: tuple[Any, ...], answer: Callable[..., Any], type_: Any) -> Any:
    """Return the answers to the requests of a chunk, each from its slice of rows and domains."""
    rows, columns = array(rows), [array(domain) for domain in domains]
    return answers(request, lambda asked, i: answer(asked, rows[i].values, [of.slice(i, 1) for of in columns]), type_)


def answers(request: Any, answer: Callable[[dict[str, Any], int], Any], type_: Any) -> Any:
    """Return the answers to the requests of a chunk, from each and its place; what is refused is a text in them."""
    found = []
    for i, text in enumerate(array(request).to_pylist()):
        asked = json.loads(text)
        try:
            found.append(answer(asked, i))
        except KeyboardInterrupt:  # DuckDB runs UDFs on the main thread too
            found.append(pa.array([{"error": str(errors.StatementInterruptedError(asked["function"]))}], type_))
        except errors.DbanonError as error:
            found.append(pa.array([{"error": str(error)}], type_))
    return pa.concat_arrays(found) if found else pa.array([], type_)


def interruptible(asked: dict[str, Any]) -> AbstractContextManager[Callable[[], None]]:
    """What checks, while a request is answered, whether its statement was interrupted."""
    return interrupts.interrupt_check(
        session.session_by_token(asked["session"]), lambda: errors.StatementInterruptedError(asked["function"])
    )


def one(rows: Any, type_: Any) -> Any:
    """Return an array of one list."""
    return pa.ListArray.from_arrays(packed(np.array([0, len(rows)], np.int32)), rows, type=type_)


def attribute_of(kind: dict[str, Any], domain: Any) -> encoded_table.Attribute:
    """Return the attribute of a domain: a list of positions, or a struct of two lists of nodes."""
    if kind["kind"] == "number":
        integral, weight, bare = kind["integral"], kind["weight"], kind["bare"]
        if not pa.types.is_struct(domain.type):
            return encoded_table.NumericAttribute(flat(domain, np.float64), integral, weight, with_bare_null=bare)
        ranks = (flat(domain.field(end), np.int32) for end in ("low", "high"))
        ends = encoded_table.IntervalEnds(*ranks, *(flat(domain.field(end), np.float64) for end in ("below", "above")))
        positions = flat(domain.field("place"), np.float64)
        return encoded_table.NumericAttribute(
            positions, integral, weight, ends, bare, magnitudes=_numbers(domain, "magnitude")
        )
    parent = numbers(items(domain.field("parent")), -1).astype(np.int32)
    node = flat(domain.field("value"), np.int32)
    magnitudes = _numbers(domain, "magnitude")
    return encoded_table.CategoricalAttribute(
        parent, node, kind["weight"], kind["max_level"], kind["round"], magnitudes=magnitudes
    )


def flat(lists: Any, type_: Any) -> Any:
    """Return the items of one list."""
    return numbers(items(lists)).astype(type_)


def _sensitive(
    records: Any, i: int, domain: Any
) -> tuple[encoded_table.Codes, int, encoded_table.CategoricalAttribute | None]:
    """Return codes of a sensitive column by row (NULL the code after the last), its number of values and its
    hierarchy."""
    values, tree = _values(domain)
    return np.asarray(numbers(records.field(f"s{i}"), values), np.int32), values, tree


def _values(domain: Any) -> tuple[int, encoded_table.CategoricalAttribute | None]:
    """How many values a sensitive column has, and its hierarchy."""
    node = flat(domain.field("value"), np.int32)
    parents = numbers(items(domain.field("parent")), -1).astype(np.int32)
    return len(node), encoded_table.CategoricalAttribute(parents, node) if len(parents) else None


def sensitive_of(domain: Any) -> encoded_table.SensitiveColumn:
    """Return a sensitive column of a larger table, without its rows."""
    _, tree = _values(domain)
    return encoded_table.SensitiveColumn(np.zeros(0, np.int32), flat(domain.field("whole"), np.int64), tree)


def _numbers(domain: Any, name: str) -> Any:
    """Return a list of numbers by code, where it was asked for."""
    return flat(domain.field(name), np.float64) if name in [f.name for f in domain.type] else None


def codes_of(records: Any, j: int, attribute: encoded_table.Attribute) -> encoded_table.Codes:
    """Return codes of one attribute by row; NULL is the code after the last."""
    return np.asarray(numbers(records.field(f"c{j}"), attribute.values), np.int32)


def sensitive_codes_of(records: Any, i: int) -> encoded_table.Ints:
    """Return codes of a sensitive column by row; -1 for NULL."""
    return np.asarray(numbers(records.field(f"s{i}"), -1), np.int64)


def persons_of(records: Any) -> encoded_table.Ints:
    """Return dense numbers of persons by row, -1 where unknown."""
    person = records.field("person")
    _, dense = np.unique(numbers(person, 0), return_inverse=True)
    dense[~known(person)] = -1
    return np.asarray(dense, np.int64)
