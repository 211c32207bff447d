"""What the clustering UDF is asked: its first argument, beside the codes."""

from dataclasses import asdict

from dbanon.policy.attribute import Attribute
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, as_json


def cluster_request(call: ReleaseSpec) -> Sql:
    """Return the first argument of the clustering UDF, as a JSON literal."""
    return as_json(request(call))


def request(call: ReleaseSpec) -> dict[str, object]:
    """Return the same as values."""
    asked = {} if call.reading.larger is None else {"records": call.reading.larger.records}
    return asked | {
        "function": call.function,
        "algorithm": call.algorithm,
        "k": call.k,
        "person": call.roles.person is not None,
        "options": dict(call.run.options),
        "session": call.run.session,
        "models": [d.as_dict() for d in call.demands],
        "joint": call.joint,
        "suppress": call.options["suppress"],
        "cell": call.options["cell"],
        "improve": call.options["improve"],
        "objective": call.options["objective"],
        "heights": "edges" if call.options["eloss_height"] == "sub" else "top",
        "sensitive": list(call.roles.sensitive) if call.looks_at_sensitive else [],
        "forest": None if call.run.forest is None else asdict(call.run.forest),
        "noise": None if call.run.noise is None else asdict(call.run.noise),
        "attributes": [
            {
                "name": a.quasi.column,
                "kind": "number" if a.is_number else "tree",
                "integral": a.is_integral,
                "bare": call.intervals != "text",
                "weight": a.quasi.settings.weight,
                "max_level": _max_level(a),
                "round": a.round,
            }
            for a in call.attributes
        ],
    }


def _max_level(attribute: Attribute) -> int | None:
    """Return steps that are left to a value after min_level was applied."""
    settings = attribute.quasi.settings
    return None if settings.max_level is None else settings.max_level - (settings.min_level or 0)
