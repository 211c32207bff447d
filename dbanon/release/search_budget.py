"""Support a time limit of the search, such as improve = '5s': the moves made in that time are counted once.

A call with that number of moves gives the same classes on any machine.
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
    """Return the time limit in the parameter `improve`, in seconds; None if `improve` is no text or not given.

    Raises:
        InvalidArgumentError: `improve` is a text, but no time such as '5s'.
    """
    improve = next((value for name, value in call_values.items() if name.lower() == "improve"), None)
    if not isinstance(improve, str):
        return None
    match = _TIME.fullmatch(improve)
    if match is None:
        raise errors.InvalidArgumentError(function, "improve", ACCEPTED_VALUES, repr(improve))
    return float(match[1]) * _SECONDS_PER_UNIT[match[2].lower()]


def replace_time_limit(function: str, call_values: Mapping[str, Any], n_moves: int = 0) -> dict[str, Any]:
    """Return a copy of the parameters, in which `n_moves` replaces the value of `improve` if it is a time limit.

    Raises:
        InvalidArgumentError: `improve` is a text, but no time such as '5s'.
    """
    if time_limit_s(function, call_values) is None:
        return dict(call_values)
    return {name: n_moves if name.lower() == "improve" else value for name, value in call_values.items()}


def count_timed_moves(
    function: str, session: Session, cursor: Any, spec: ReleaseSpec, call_values: Mapping[str, Any]
) -> tuple[ReleaseSpec, dict[str, Any]]:
    """Run the search until its time limit, and return the spec and the parameters with the number of moves made.

    Without a time limit, nothing runs, and both are returned unchanged. The classes found are cached, so that a call
    with this number of moves has them at once. Ctrl-C during the search keeps the best classes so far.

    Args:
        function: The called function, for messages.
        session: The session of the search.
        cursor: The cursor that runs it.
        spec: The release spec for `call_values` in which `replace_time_limit` has replaced a time limit.
        call_values: The parameters of the call.
    """
    limit_s = time_limit_s(function, call_values)
    if limit_s is None:
        return spec, dict(call_values)
    with interrupts.timed_search(session, limit_s) as search:
        cursor.execute(f"SELECT count(*) FROM ({plan.release_sql(spec)})").fetchall()
    return spec.with_options(improve=search.moves), replace_time_limit(function, call_values, search.moves)
