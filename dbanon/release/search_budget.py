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

ACCEPTS = "a number of moves, an integer of at least 0, or a time such as '5s', '500ms' or '2min'"
_TIME = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|min)\s*", re.IGNORECASE)
_SECONDS = {"ms": 0.001, "s": 1.0, "min": 60.0}


def seconds(function: str, given: Mapping[str, Any]) -> float | None:
    """Return the time that `improve` gives.

    None where it is a number of moves or is not given. InvalidArgumentError.
    """
    improve = next((value for name, value in given.items() if name.lower() == "improve"), None)
    if not isinstance(improve, str):
        return None
    found = _TIME.fullmatch(improve)
    if found is None:
        raise errors.InvalidArgumentError(function, "improve", ACCEPTS, repr(improve))
    return float(found[1]) * _SECONDS[found[2].lower()]


def untimed(function: str, given: Mapping[str, Any], moves: int = 0) -> dict[str, Any]:
    """Return the parameters with so many moves in place of a time."""
    if seconds(function, given) is None:
        return dict(given)
    return {name: moves if name.lower() == "improve" else value for name, value in given.items()}


def counted(
    function: str, current: Session, cursor: Any, spec: ReleaseSpec, given: Mapping[str, Any]
) -> tuple[ReleaseSpec, dict[str, Any]]:
    """Search for the given time, and return the spec and the parameters with the number of moves that were made.

    `spec` is what the untimed parameters publish. The classes found are kept, so that the spec with these moves has
    them at once. Ctrl-C during the search takes the best classes so far.
    """
    limit = seconds(function, given)
    if limit is None:
        return spec, dict(given)
    with interrupts.timed_search(current, limit) as search:
        cursor.execute(f"SELECT count(*) FROM ({plan.statement(spec)})").fetchall()
    return spec.with_options(improve=search.moves), untimed(function, given, search.moves)
