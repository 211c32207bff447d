"""What versions demand of the people they show: sets that only several versions together tell apart meet all of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbanon.ledger.releases import Entry
from dbanon.privacy_models import model_request
from dbanon.release.spec.release_spec import ReleaseSpec


@dataclass(frozen=True)
class Promised:
    """A publication with the models of earlier versions beside its own.

    `by`: for the number of each model that is not the publication's own, the places of the versions that demand it;
    it holds for the people these show. `joint`: whether any version asks for the joint form, which is the stricter.
    `compares`: whether a model compares with the whole table.
    """

    publication: ReleaseSpec
    by: Mapping[int, tuple[int, ...]]
    joint: bool

    @property
    def compares(self) -> bool:
        """Whether a model compares classes with the whole table."""
        return any(d.rule.compares for d in self.publication.demands)


def promised(publication: ReleaseSpec, others: Sequence[Entry]) -> Promised:
    """Return the publication with what other versions demand of columns that it publishes unchanged, too."""
    unchanged = {c.lower(): c for c in (*publication.roles.sensitive, *publication.roles.other)}
    sensitive, own = list(publication.roles.sensitive), list(publication.demands)
    by: dict[int, tuple[int, ...]] = {}
    for place, other in enumerate(others):
        for name, of in _demands(other):
            column = unchanged.get(name.lower())
            if column is None:
                continue
            if column not in sensitive:
                sensitive.append(column)
            wanted = replace(of, sensitive=sensitive.index(column))
            if (
                of.rule.order == "hierarchy" and column not in publication.orders
            ):  # the hierarchy that it had may be gone
                wanted = replace(wanted, form=of.rule.instead)
            if wanted in publication.demands:
                continue
            if wanted not in own:
                own.append(wanted)
            number = own.index(wanted)
            by[number] = (*by.get(number, ()), place)
    roles = replace(
        publication.roles,
        sensitive=tuple(sensitive),
        other=tuple(c for c in publication.roles.other if c not in sensitive),
    )
    joint = any(options.get("multi") == "joint" for options in (publication.options, *(o.options for o in others)))
    return Promised(replace(publication, roles=roles, demands=tuple(own)), by, joint)


def _demands(entry: Entry) -> list[tuple[str, model_request.Demand]]:
    """Return the models of a version, each with its column."""
    sensitive = [c for c, role in entry.roles.items() if role == "sensitive"]
    return [
        (sensitive[d.sensitive], d) for d in model_request.demands("refresh", entry.shown, entry.options, sensitive)
    ]
