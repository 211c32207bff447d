"""Privacy models that a new version inherits from earlier versions that show the same people.

Sets that only several versions together distinguish must meet all of these models.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon.ledger.releases import LedgerEntry
from dbanon.privacy_models import model_request
from dbanon.release.spec.release_spec import ReleaseSpec
from dbanon.sqltext.names import fold_case


@dataclass(frozen=True)
class InheritedModels:
    """A release spec to which the privacy models of earlier versions were added.

    `versions_by_model` has an entry for each added model: its index in `spec.model_requirements`, and the indexes of
    the earlier versions that require it. The model applies to the people in these versions. `joint` is whether the spec
    or an earlier version sets `multi_sensitive = 'joint'`, which tests all sensitive columns together and is stricter.
    """

    spec: ReleaseSpec
    versions_by_model: Mapping[int, tuple[int, ...]]
    joint: bool

    @property
    def uses_whole_table(self) -> bool:
        """Whether any of the models, added or not, compares a class with the distribution in the whole table."""
        return any(d.form_definition.uses_overall for d in self.spec.model_requirements)


def inherit_models(spec: ReleaseSpec, others: Sequence[LedgerEntry]) -> InheritedModels:
    """Return the spec of a new version together with the privacy models, other than k, that earlier versions require.

    A model is inherited if the new version publishes the column of the model unchanged (as `sensitive` or
    `insensitive`); an insensitive column is then treated as sensitive. Models that the spec has already are not added
    again. A model that orders values by a hierarchy takes its alternative form (without a hierarchy) if the spec has no
    hierarchy for the column.

    Args:
        spec: The release spec of the new version; it is not changed.
        others: The earlier versions. `versions_by_model` of the result has indexes of this sequence.
    """
    unchanged = {fold_case(c): c for c in (*spec.roles.sensitive, *spec.roles.insensitive)}
    sensitive, demands = list(spec.roles.sensitive), list(spec.model_requirements)
    versions_by_demand: dict[int, tuple[int, ...]] = {}
    for place, other in enumerate(others):
        for name, demand in _model_requirements(other):
            column = unchanged.get(fold_case(name))
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


def _model_requirements(entry: LedgerEntry) -> list[tuple[str, model_request.ModelRequirement]]:
    """Return (sensitive column, requirement) for each privacy model other than k that a version requires."""
    sensitive = [c for c, role in entry.roles.items() if role == "sensitive"]
    return [
        (sensitive[d.sensitive], d)
        for d in model_request.model_requirements("refresh_release", entry.display_name, entry.options, sensitive)
    ]
