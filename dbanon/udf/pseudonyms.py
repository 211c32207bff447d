"""The scalar functions of pseudonyms and shifts: from texts and a description to pseudonyms and days.

The description is JSON with a reference to the key, never the key. The functions that compute published values and
those of the gate take the same arguments and share no other code.
"""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dbanon.gate import linked_patterns, pseudonyms
from dbanon.policy.transforms import pseudonymize
from dbanon.policy.transforms.formats import Form
from dbanon.runtime import secret_keys
from dbanon.udf.cluster_input import array


def dbanon_pseudonym(values: Any, how: Any) -> Any:
    """Return the pseudonyms of texts; `how` has key, scope, format, length and prefix."""
    return _made(values, how, _pseudonyms, pa.string())


def dbanon_pseudonym_again(values: Any, how: Any) -> Any:
    """Return the same, by the gate's own code."""
    return _made(values, how, pseudonyms.expected_pseudonyms, pa.string())


def dbanon_shift(persons: Any, how: Any) -> Any:
    """By how many days the dates of persons are shifted; `how` has key, scope and days."""
    return _made(persons, how, _shifts, pa.int32())


def dbanon_shift_again(persons: Any, how: Any) -> Any:
    """Return the same, by the gate's own code."""
    return _made(persons, how, pseudonyms.expected_shifts, pa.int32())


def dbanon_pseudonym_length(lists: Any, how: Any) -> Any:
    """Return the least length at which the pseudonyms of the texts of each list differ; NULL where none holds."""

    def of(all_texts: list[list[str] | None], told: dict[str, Any]) -> list[int | None]:
        return [
            pseudonymize.least_length(t or [], secret_keys.find_key(told["key"]), told["scope"], _form(told))
            for t in all_texts
        ]

    return _made(lists, how, of, pa.int32())


def dbanon_together(rows: Any) -> Any:
    """Return the numbers of the parts of each row (see `linked_patterns.pattern_numbers`), in the order of the list.

    `rows` are lists of STRUCT(label VARCHAR, size BIGINT, links VARCHAR[]); NULL counts as an empty list.
    """
    type_ = pa.list_(pa.list_(pa.int64()))

    def of(one: list[dict[str, Any]] | None) -> list[list[int]]:
        return linked_patterns.pattern_numbers(
            [linked_patterns.LinkedRow(r["label"], r["size"], tuple(r["links"])) for r in one or ()]
        )

    return pa.array([of(one) for one in array(rows).to_pylist()], type_)


def _made(values: Any, how: Any, make: Callable[[list[Any], dict[str, Any]], list[Any]], type_: Any) -> Any:
    """What `make` makes of the values of each `how`, in their order. DuckDB gives one `how` for all, as a rule."""
    texts, asked = array(values).to_pylist(), array(how).to_pylist()
    if len(set(asked)) <= 1:
        return pa.array(make(texts, json.loads(asked[0])) if texts else [], type_)
    return pa.array([make([t], json.loads(h))[0] for t, h in zip(texts, asked, strict=True)], type_)


def _pseudonyms(values: list[str | None], how: dict[str, Any]) -> list[str | None]:
    return pseudonymize.pseudonyms(values, secret_keys.find_key(how["key"]), how["scope"], _form(how))


def _shifts(persons: list[str | None], how: dict[str, Any]) -> list[int | None]:
    return pseudonymize.shifts(persons, secret_keys.find_key(how["key"]), how["scope"], how["days"])


def _form(how: dict[str, Any]) -> Form:
    return Form(how["format"], how["length"], how["prefix"])
