"""What DuckDB is given as functions. What these do is imported when they are called: attaching does not wait for it.

They are module-level functions because DuckDB may call them after the connection that registered them is gone.
"""

from __future__ import annotations

from typing import Any


def dbanon_plan(token: str, call: str, places: str) -> str:
    """See dbanon.engine.udf."""
    from dbanon.engine import udf

    return udf.dbanon_plan(token, call, places)


def dbanon_cluster(request: Any, rows: Any, *domains: Any) -> Any:
    """See dbanon.engine.udf."""
    from dbanon.engine import udf

    return udf.dbanon_cluster(request, rows, *domains)


def dbanon_trees(request: Any, values: Any, stored: Any) -> Any:
    """See dbanon.engine.udf_trees."""
    from dbanon.engine import udf_trees

    return udf_trees.dbanon_trees(request, values, stored)


def dbanon_influence(request: Any, rows: Any, *domains: Any) -> Any:
    """See dbanon.engine.udf."""
    from dbanon.engine import udf

    return udf.dbanon_influence(request, rows, *domains)


def dbanon_attack(request: Any, given: Any) -> Any:
    """See dbanon.engine.udf_attack."""
    from dbanon.engine import udf_attack

    return udf_attack.dbanon_attack(request, given)


def dbanon_refine(request: Any, given: Any) -> Any:
    """See dbanon.engine.udf_refine."""
    from dbanon.engine import udf_refine

    return udf_refine.dbanon_refine(request, given)


def dbanon_diversify(request: Any, rows: Any, people: Any, held: Any, *domains: Any) -> Any:
    """See dbanon.engine.udf_diversify."""
    from dbanon.engine import udf_diversify

    return udf_diversify.dbanon_diversify(request, rows, people, held, *domains)


def dbanon_utility(request: Any, given: Any) -> Any:
    """See dbanon.engine.udf_utility."""
    from dbanon.engine import udf_utility

    return udf_utility.dbanon_utility(request, given)


def dbanon_compare(request: Any, rows: Any, *domains: Any) -> Any:
    """See dbanon.engine.udf_compare."""
    from dbanon.engine import udf_compare

    return udf_compare.dbanon_compare(request, rows, *domains)


def dbanon_compare_streams(request: Any, rows: Any, *rest: Any) -> Any:
    """See dbanon.engine.udf_compare_streams."""
    from dbanon.engine import udf_compare_streams

    return udf_compare_streams.dbanon_compare_streams(request, rows, *rest)


def dbanon_stream(request: Any, rows: Any, *rest: Any) -> Any:
    """See dbanon.engine.udf_stream."""
    from dbanon.engine import udf_stream

    return udf_stream.dbanon_stream(request, rows, *rest)


def dbanon_pseudonym(values: Any, how: Any) -> Any:
    """See dbanon.engine.udf_pseudonym."""
    from dbanon.engine import udf_pseudonym

    return udf_pseudonym.dbanon_pseudonym(values, how)


def dbanon_pseudonym_again(values: Any, how: Any) -> Any:
    """See dbanon.engine.udf_pseudonym."""
    from dbanon.engine import udf_pseudonym

    return udf_pseudonym.dbanon_pseudonym_again(values, how)


def dbanon_shift(persons: Any, how: Any) -> Any:
    """See dbanon.engine.udf_pseudonym."""
    from dbanon.engine import udf_pseudonym

    return udf_pseudonym.dbanon_shift(persons, how)


def dbanon_shift_again(persons: Any, how: Any) -> Any:
    """See dbanon.engine.udf_pseudonym."""
    from dbanon.engine import udf_pseudonym

    return udf_pseudonym.dbanon_shift_again(persons, how)


def dbanon_together(rows: Any) -> Any:
    """See dbanon.engine.udf_pseudonym."""
    from dbanon.engine import udf_pseudonym

    return udf_pseudonym.dbanon_together(rows)


def dbanon_pseudonym_length(lists: Any, how: Any) -> Any:
    """See dbanon.engine.udf_pseudonym."""
    from dbanon.engine import udf_pseudonym

    return udf_pseudonym.dbanon_pseudonym_length(lists, how)
