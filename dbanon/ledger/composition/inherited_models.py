"""Privacy models that a new version inherits from earlier versions that show the same people.

Sets that only several versions together distinguish must meet all of these models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon.ledger.releases import LedgerEntry
from dbanon.privacy_models import model_request
from dbanon.release.spec.release_spec import ReleaseSpec


@dataclass(frozen=True)
class InheritedModels:
    """A release spec with the models of earlier versions in addition to its own.

    `versions_by_model`: for the number of each inherited model, the positions of the versions that require it; it
    applies to the people that these show. `joint`: whether any version requires the joint form, which is stricter.
    """

    spec: ReleaseSpec
    versions_by_model: Mapping[int, tuple[int, ...]]
    joint: bool

    @property
    def uses_whole_table(self) -> bool:
        """Whether a model compares classes with the whole table."""
        return any(d.form_definition.uses_overall for d in self.spec.model_requirements)


def inherit_models(spec: ReleaseSpec, others: Sequence[LedgerEntry]) -> InheritedModels:
    """Return the spec with models that other versions require of columns which it publishes unchanged, too."""
    unchanged = {c.lower(): c for c in (*spec.roles.sensitive, *spec.roles.insensitive)}
    sensitive, demands = list(spec.roles.sensitive), list(spec.model_requirements)
    versions_by_demand: dict[int, tuple[int, ...]] = {}
    for place, other in enumerate(others):
        for name, demand in _demands(other):
            column = unchanged.get(name.lower())
            if column is None:
                continue
            if column not in sensitive:
                sensitive.append(column)
            inherited = replace(demand, sensitive=sensitive.index(column))
            if (
                demand.form_definition.value_order == "hierarchy" and column not in spec.sensitive_hierarchies
            ):  # the hierarchy that it had may be gone
                inherited = replace(inherited, form=demand.form_definition.alternative)
            if inherited in spec.model_requirements:
                continue
            if inherited not in demands:
                demands.append(inherited)
            number = demands.index(inherited)
            versions_by_demand[number] = (*versions_by_demand.get(number, ()), place)
    roles = replace(
        spec.roles,
        sensitive=tuple(sensitive),
        insensitive=tuple(c for c in spec.roles.insensitive if c not in sensitive),
    )
    joint = any(options.get("multi_sensitive") == "joint" for options in (spec.options, *(o.options for o in others)))
    return InheritedModels(replace(spec, roles=roles, model_requirements=tuple(demands)), versions_by_demand, joint)


def _demands(entry: LedgerEntry) -> list[tuple[str, model_request.ModelRequirement]]:
    """Return the models of a version, each with its column."""
    sensitive = [c for c, role in entry.roles.items() if role == "sensitive"]
    return [
        (sensitive[d.sensitive], d)
        for d in model_request.model_requirements("refresh_release", entry.display_name, entry.options, sensitive)
    ]
