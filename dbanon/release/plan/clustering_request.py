"""Write the request of the clustering UDF: its first argument, in addition to the codes."""

from dataclasses import asdict

from dbanon.encoding.request_defaults import without_defaults
from dbanon.policy.attribute import Attribute
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.quote import Sql, as_json


def cluster_request_json(spec: ReleaseSpec) -> Sql:
    """Return the first argument of the clustering UDF without default values, as a SQL literal that contains JSON."""
    return as_json(without_defaults(cluster_request(spec)))


def cluster_request(spec: ReleaseSpec) -> dict[str, object]:
    """Return the first argument of the clustering UDF, as a dictionary.

    It has all settings of the run: algorithm, k, options, privacy models, forest, noise, session and attributes. The
    records are the other arguments.
    """
    parent_table = {} if spec.reading.whole_table is None else {"records": spec.reading.whole_table.n_records}
    options = dict(spec.run.options)
    if spec.run.noise is not None and "epsilon" in options:
        options["epsilon"] = spec.run.noise.epsilon  # as if the default were given: both draw the same noise
    # Noise is drawn by a hash of these keys (see `dbanon.udf.cluster`): other keys would draw other noise.
    return parent_table | {
        "function": spec.function,
        "algorithm": spec.algorithm,
        "k": spec.k,
        "person": spec.roles.person is not None,
        "options": options,
        "session": spec.run.session,
        "models": [asdict(d) for d in spec.model_requirements],
        "joint": spec.is_joint,
        "suppress": spec.options["suppress"],
        "cell": spec.options["max_partition"],
        "improve": spec.options["improve"],
        "objective": spec.options["objective"],
        "leaves": spec.options["leaves"],
        "heights": "edges" if spec.options["loss_height"] == "sub" else "top",
        "sensitive": list(spec.roles.sensitive) if spec.uses_sensitive else [],
        "forest": None if spec.run.forest is None else asdict(spec.run.forest),
        "noise": None if spec.run.noise is None else asdict(spec.run.noise),
        "attributes": [
            {
                "name": a.quasi.column,
                "kind": "number" if a.is_number else "tree",
                "integral": a.is_integral,
                "bare": spec.interval_format != "text",
                "weight": a.quasi.settings.weight,
                "max_level": _max_level(a),
                "round": a.round,
            }
            for a in spec.attributes
        ],
    }


def _max_level(attribute: Attribute) -> int | None:
    """Return by how many levels a value may be raised above `min_level`; None for any number (no max_level)."""
    settings = attribute.quasi.settings
    return None if settings.max_level is None else settings.max_level - (settings.min_level or 0)
