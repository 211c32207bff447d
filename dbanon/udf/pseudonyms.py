"""The scalar functions of pseudonyms and date shifts: texts and settings in, pseudonyms and days out.

The settings are JSON with a reference to the key, never the key. The functions that compute published values and those
of the gate take the same arguments and share no other code.
"""

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from dbanon.gate import linked_patterns, pseudonyms
from dbanon.policy.transforms import pseudonymize
from dbanon.policy.transforms.formats import PseudonymFormat
from dbanon.runtime import secret_keys
from dbanon.udf.cluster_input import as_array


def dbanon_pseudonym(values: Any, settings: Any) -> Any:
    """Return the published pseudonyms of texts; NULL for NULL.

    `settings` is JSON per text: key (a reference), scope, format, length and prefix.
    """
    return _transform(values, settings, _pseudonyms, pa.string())


def dbanon_pseudonym_again(values: Any, settings: Any) -> Any:
    """Return the pseudonyms of texts as the gate's own code computes them, to check published ones; NULL for NULL.

    The arguments are those of `dbanon_pseudonym`.
    """
    return _transform(values, settings, pseudonyms.expected_pseudonyms, pa.string())


def dbanon_shift(persons: Any, settings: Any) -> Any:
    """Return the number of days by which the dates of each person are shifted; NULL for NULL.

    `settings` is JSON per person: key (a reference), scope and days.
    """
    return _transform(persons, settings, _shifts, pa.int32())


def dbanon_shift_again(persons: Any, settings: Any) -> Any:
    """Return the days by which each person's dates must be shifted, computed by the gate's own code; NULL for NULL.

    The gate compares published dates with them. The arguments are those of `dbanon_shift`; the computations
    share no code.
    """
    return _transform(persons, settings, pseudonyms.expected_shifts, pa.int32())


def dbanon_pseudonym_length(lists: Any, settings: Any) -> Any:
    """Return the least length at which the pseudonyms of each list's texts are distinct; NULL if no length is enough.

    It is at least the length in the settings. NULL in place of a list counts as an empty list. The settings are those
    of `dbanon_pseudonym`.
    """

    def least_lengths(all_texts: list[list[str] | None], setting_values: dict[str, Any]) -> list[int | None]:
        """Return the least lengths for lists of texts with equal settings, in order; None if no length is enough."""
        return [
            pseudonymize.min_unique_length(
                t or [],
                secret_keys.find_key(setting_values["key"]),
                setting_values["scope"],
                _pseudonym_format(setting_values),
            )
            for t in all_texts
        ]

    return _transform(lists, settings, least_lengths, pa.int32())


def dbanon_together(rows: Any) -> Any:
    """Return, for each list of rows linked by pseudonyms, the pattern numbers of each row, in the order of the list.

    Rows with equal numbers cannot be distinguished by the pseudonyms they share; see `linked_patterns.pattern_numbers`.

    Args:
        rows: Lists of STRUCT(label VARCHAR, size BIGINT, links VARCHAR[]); NULL counts as an empty list.
    """

    def pattern_numbers(linked_rows: list[dict[str, Any]] | None) -> list[list[int]]:
        """Return the pattern numbers of one list of rows; [] for NULL."""
        return linked_patterns.pattern_numbers(
            [linked_patterns.LinkedRow(r["label"], r["size"], tuple(r["links"])) for r in linked_rows or ()]
        )

    return pa.array(
        [pattern_numbers(linked_rows) for linked_rows in as_array(rows).to_pylist()], pa.list_(pa.list_(pa.int64()))
    )


def _transform(
    values: Any, settings: Any, transform: Callable[[list[Any], dict[str, Any]], list[Any]], type_: Any
) -> Any:
    """Return an Arrow array of `transform` applied to values and their settings, in their order.

    If all values have equal settings, as DuckDB usually passes them, `transform` is called once with all values; else
    once per value. Values are not grouped.

    Args:
        values: An Arrow column of values.
        settings: An Arrow column with the settings of each value, as JSON.
        transform: Takes a list of values and their common settings, and returns the results in order.
        type_: The Arrow type of a result.
    """
    texts, setting_texts = as_array(values).to_pylist(), as_array(settings).to_pylist()
    if len(set(setting_texts)) <= 1:
        return pa.array(transform(texts, json.loads(setting_texts[0])) if texts else [], type_)
    return pa.array([transform([t], json.loads(h))[0] for t, h in zip(texts, setting_texts, strict=True)], type_)


def _pseudonyms(values: list[str | None], settings: dict[str, Any]) -> list[str | None]:
    """Return the published pseudonyms of texts, in order, with the key that the settings refer to; None for None."""
    return pseudonymize.compute_pseudonyms(
        values, secret_keys.find_key(settings["key"]), settings["scope"], _pseudonym_format(settings)
    )


def _shifts(persons: list[str | None], settings: dict[str, Any]) -> list[int | None]:
    """Return the days by which each person's dates are shifted, in order, with the settings' key; None for None."""
    return pseudonymize.compute_shifts(
        persons, secret_keys.find_key(settings["key"]), settings["scope"], settings["days"]
    )


def _pseudonym_format(settings: dict[str, Any]) -> PseudonymFormat:
    """Return the format of pseudonyms (text format, length and prefix) of the settings."""
    return PseudonymFormat(settings["format"], settings["length"], settings["prefix"])
