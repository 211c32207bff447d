"""improve='5s': a search that goes on for a time, once, and is then written down as the moves that it made.

Whoever runs the call again with that number of moves gets the same classes, on a faster or slower machine.
"""

import re
from collections.abc import Mapping
from typing import Any

from dbanon import errors
from dbanon.release.plan import plan
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.runtime import interrupts
from dbanon.runtime.session import Session

ACCEPTED_VALUES = "a number of moves, an integer of at least 0, or a time such as '5s', '500ms' or '2min'"
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min)\s*", re.IGNORECASE)
_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "min": 60.0}


def time_limit_s(function: str, call_values: Mapping[str, Any]) -> float | None:
    """Return the time that `improve` gives.

    None where it is a number of moves or is not given. InvalidArgumentError.
    """
    improve = next((value for name, value in call_values.items() if name.lower() == "improve"), None)
    if not isinstance(improve, str):
        return None
    match = _TIME.fullmatch(improve)
    if match is None:
        raise errors.InvalidArgumentError(function, "improve", ACCEPTED_VALUES, repr(improve))
    return float(match[1]) * _SECONDS_PER_UNIT[match[2].lower()]


def replace_time_limit(function: str, call_values: Mapping[str, Any], n_moves: int = 0) -> dict[str, Any]:
    """Return the parameters with so many moves in place of a time."""
    if time_limit_s(function, call_values) is None:
        return dict(call_values)
    return {name: n_moves if name.lower() == "improve" else value for name, value in call_values.items()}


def count_timed_moves(
    function: str, session: Session, cursor: Any, spec: ReleaseSpec, call_values: Mapping[str, Any]
) -> tuple[ReleaseSpec, dict[str, Any]]:
    """Search for the given time, and return the spec and the parameters with the number of moves that were made.

    `spec` is what the untimed parameters publish. The classes found are kept, so that the spec with these moves has
    them at once. Ctrl-C during the search takes the best classes so far.
    """
    limit_s = time_limit_s(function, call_values)
    if limit_s is None:
        return spec, dict(call_values)
    with interrupts.timed_search(session, limit_s) as search:
        cursor.execute(f"SELECT count(*) FROM ({plan.release_sql(spec)})").fetchall()
    return spec.with_options(improve=search.moves), replace_time_limit(function, call_values, search.moves)
