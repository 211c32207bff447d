"""Decode the arguments of UDFs, groups of equal records with the domains of their codes, and encode their results."""

import json
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import wraps
from typing import Any

import numpy as np
import pyarrow as pa

from dbanon import errors
from dbanon.encoding import encoded_table
from dbanon.encoding.request_defaults import complete_request
from dbanon.runtime import interrupts, session
from dbanon.udf.arrow_columns import is_valid, list_items, struct_array, to_arrow, to_numpy, typed_column


def encode_records(
    request: dict[str, Any], records: Any, domains: tuple[Any, ...], *, with_ties: bool = True
) -> tuple[encoded_table.EncodedTable, encoded_table.Ints]:
    """Return the encoded table of all records, and the canonical order of their groups.

    Args:
        request: The request, with the settings of the attributes.
        records: STRUCT array, one row per group of equal records: `codes` and `sensitive` (structs with the codes of
            attributes and of sensitive columns, in order; NULL for NULL), `size` (number of records), `tie` (orders
            groups with equal codes), `gid` (number of the group) and `person`.
        domains: The domains (meaning of the codes) of the attributes, then those of the sensitive columns.
        with_ties: Order groups with equal codes by `tie`; otherwise by their persons alone.

    Returns:
        The encoded table, and the row of `records` of each of its groups.
    """
    n_attributes = len(request["attributes"])
    attributes = [
        attribute_from_domain(settings, domain)
        for settings, domain in zip(request["attributes"], domains[:n_attributes], strict=True)
    ]
    columns = [attribute_codes(records, j, a) for j, a in enumerate(attributes)]
    persons = person_numbers(records) if request["person"] else None
    ties = to_numpy(records.field("tie")) if with_ties else np.zeros(len(records), np.uint64)
    sensitive_columns = [_sensitive_input(records, i, domain) for i, domain in enumerate(domains[n_attributes:])]
    encoded, canonical_order = encoded_table.encode_table(
        attributes, columns, ties, persons, integer_field(records, "size"), sensitive_columns
    )
    sensitive = tuple(
        replace(s, positions=_optional_numbers(d, "place"), value_counts=_value_counts(d, s))
        for s, d in zip(encoded.sensitive, domains[n_attributes:], strict=True)
    )
    return replace(encoded, sensitive=sensitive, total=request.get("records", encoded.total)), canonical_order


def _value_counts(domain: Any, sensitive: encoded_table.SensitiveColumn) -> encoded_table.Ints:
    """Return the number of records (or persons, if there is a person column) that have each sensitive value, by code.

    For a partition of a larger table, these are the counts in the larger table, which `domain` has as field `whole`.
    """
    if "whole" not in [f.name for f in domain.type]:
        return sensitive.value_counts
    return np.asarray(list_numbers(domain.field("whole"), np.int64))


def integer_field(records: Any, name: str) -> encoded_table.Ints:
    """Return a field of an Arrow struct array, which must have no NULLs, as an array of 64-bit integers."""
    return np.asarray(to_numpy(records.field(name)), np.int64)


def feature_matrix(records: Any, name: str = "f") -> Any:
    """Return a field of lists of equal length as a (rows, length) matrix of floats; (0, 0) without rows."""
    values = records.field(name).flatten().to_numpy(zero_copy_only=False).astype(np.float64)
    return values.reshape(len(records), -1 if len(records) else 0)


def as_array(column: Any) -> Any:
    """Return a column as one contiguous Arrow array; a ChunkedArray is combined, an array is returned unchanged."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def answers_requests(type_: Any, *, with_records: bool = False) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that makes a function, which answers one request, answer a chunk of requests for DuckDB.

    The function takes a decoded request and its slice of each column, of length one. It returns the fields of its
    answer as a dict, or the answer as an Arrow array of length one. The decorated function takes the JSON of each
    request and columns with one row per request, and returns all answers as one Arrow array. A request that is refused
    (DbanonError) or interrupted gives a row whose `error` is the message; other errors pass.

    Args:
        type_: Arrow type of an answer, a struct with the field `error`.
        with_records: The first column is a list of encoded records per request; the function takes those of its request
            as a struct array, or None if it is NULL.
    """

    def decorate(answer_request: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function of chunks that calls `answer_request` for each request."""

        @wraps(answer_request)
        def answer_all(requests: Any, *columns: Any) -> Any:
            """Answer each request of a chunk."""
            answer_arrays, arrays = [], [as_array(column) for column in columns]
            for i, request_text in enumerate(as_array(requests).to_pylist()):
                request = complete_request(json.loads(request_text))
                try:
                    inputs = [array.slice(i, 1) for array in arrays]
                    if with_records:
                        inputs[0] = inputs[0][0].values
                    answer = answer_request(request, *inputs)
                except KeyboardInterrupt:  # DuckDB runs UDFs on the main thread too
                    answer = {"error": str(errors.StatementInterruptedError(request["function"]))}
                except errors.DbanonError as error:
                    answer = {"error": str(error)}
                answer_arrays.append(typed_column([answer], type_) if isinstance(answer, dict) else answer)
            return pa.concat_arrays(answer_arrays) if answer_arrays else pa.nulls(0, type_)

        return answer_all

    return decorate


def interrupt_check(request: dict[str, Any]) -> AbstractContextManager[Callable[[], None]]:
    """Return a context manager that yields a function to call now and then while work is done.

    The function raises StatementInterruptedError, with the name of the request's function, if the session was
    interrupted; otherwise it returns None.
    """
    return interrupts.interrupt_check(
        session.session_by_token(request["session"]), lambda: errors.StatementInterruptedError(request["function"])
    )


def list_array(rows: Any, type_: Any) -> Any:
    """Return an Arrow list array of length one whose only list contains all rows."""
    return pa.ListArray.from_arrays(to_arrow(np.array([0, len(rows)], np.int32)), rows, type=type_)


def rows_answer(columns: list[Any], type_: Any) -> Any:
    """Return an answer without an error, as an Arrow array of `type_` with length one.

    Args:
        columns: The columns of its rows.
        type_: STRUCT(rows STRUCT(...)[], error VARCHAR).
    """
    rows_type = type_[0].type
    return struct_array(
        [list_array(struct_array(columns, rows_type.value_type), rows_type), pa.nulls(1, pa.string())], type_
    )


def attribute_from_domain(settings: dict[str, Any], domain: Any) -> encoded_table.Attribute:
    """Build the attribute (a NumericAttribute or a CategoricalAttribute) that an encoded domain describes.

    Args:
        settings: The settings of the attribute in the request: `kind` and `weight`; of numbers also `integral` and
            `bare`, of categories `max_level` and `round`.
        domain: A slice of length one: a list of positions (numbers), a struct of interval ends (numbers that are
            published as intervals), or a struct of the nodes of a hierarchy (categories).
    """
    if settings["kind"] == "number":
        integral, weight, with_bare_null = settings["integral"], settings["weight"], settings["bare"]
        if not pa.types.is_struct(domain.type):
            return encoded_table.NumericAttribute(
                list_numbers(domain, np.float64), integral, weight, with_bare_null=with_bare_null
            )
        ranks = (list_numbers(domain.field(end), np.int32) for end in ("low", "high"))
        ends = encoded_table.IntervalEnds(
            *ranks, *(list_numbers(domain.field(end), np.float64) for end in ("below", "above"))
        )
        return encoded_table.NumericAttribute(
            list_numbers(domain.field("place"), np.float64),
            integral,
            weight,
            ends,
            with_bare_null,
            magnitudes=_optional_numbers(domain, "magnitude"),
        )
    return encoded_table.CategoricalAttribute(
        to_numpy(list_items(domain.field("parent")), -1).astype(np.int32),
        list_numbers(domain.field("value"), np.int32),
        settings["weight"],
        settings["max_level"],
        settings["round"],
        magnitudes=_optional_numbers(domain, "magnitude"),
    )


def list_numbers(lists: Any, type_: Any) -> Any:
    """Return the items of a list column's first list as a NumPy array of type `type_`; empty if it is NULL."""
    return to_numpy(list_items(lists)).astype(type_)


def _sensitive_input(
    records: Any, number: int, domain: Any
) -> tuple[encoded_table.Codes, int, encoded_table.CategoricalAttribute | None]:
    """Return sensitive column number `number`: its codes by row, the number of its values, and its hierarchy or None.

    NULL has the code after the last value.

    Args:
        records: STRUCT array with one row per group of equal records, as in `encode_records`.
        number: The number of the column, from 0.
        domain: The domain of the column: the fields `value` and `parent`.
    """
    n_values, tree = _sensitive_domain(domain)
    return np.asarray(to_numpy(records.field("sensitive").field(number), n_values), np.int32), n_values, tree


def _sensitive_domain(domain: Any) -> tuple[int, encoded_table.CategoricalAttribute | None]:
    """Return the number of values of a sensitive column, and its hierarchy; None if the domain has no nodes."""
    value_nodes = list_numbers(domain.field("value"), np.int32)
    parents = to_numpy(list_items(domain.field("parent")), -1).astype(np.int32)
    return len(value_nodes), encoded_table.CategoricalAttribute(parents, value_nodes) if len(parents) else None


def sensitive_from_domain(domain: Any) -> encoded_table.SensitiveColumn:
    """Build a sensitive column of a larger table from its domain: counts of values and hierarchy, without rows."""
    _, tree = _sensitive_domain(domain)
    return encoded_table.SensitiveColumn(np.zeros(0, np.int32), list_numbers(domain.field("whole"), np.int64), tree)


def _optional_numbers(domain: Any, name: str) -> Any:
    """Return the field `name` of a domain, a list of numbers by code, as floats; None if it has no such field."""
    return list_numbers(domain.field(name), np.float64) if name in [f.name for f in domain.type] else None


def attribute_codes(records: Any, number: int, attribute: encoded_table.Attribute) -> encoded_table.Codes:
    """Return the codes of attribute number `number` (from 0) by row; NULL has the code after the last value.

    `records` is a STRUCT array with one row per group of equal records, as in `encode_records`.
    """
    return np.asarray(to_numpy(records.field("codes").field(number), attribute.values), np.int32)


def sensitive_codes(records: Any, number: int) -> encoded_table.Ints:
    """Return the codes of sensitive column number `number` (from 0) by row; -1 for NULL.

    `records` is a STRUCT array with one row per group of equal records, as in `encode_records`.
    """
    return np.asarray(to_numpy(records.field("sensitive").field(number), -1), np.int64)


def person_numbers(records: Any) -> encoded_table.Ints:
    """Return the person of each row as a number from 0 in the order of the field `person`; -1 where the person is NULL.

    If some persons are NULL, one number may be unused.
    """
    person = records.field("person")
    _, dense = np.unique(to_numpy(person, 0), return_inverse=True)
    dense[~is_valid(person)] = -1
    return np.asarray(dense, np.int64)
