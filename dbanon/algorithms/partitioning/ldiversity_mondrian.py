"""The l-diversity baseline: Mondrian, or the best full-domain generalization, that meets l-diversity."""

from dbanon.algorithms.base.registry import ALL_MODELS, Assignment, Check, Options, Widening, register
from dbanon.algorithms.full_domain.lattice_search import search_full_domain
from dbanon.algorithms.full_domain.recoding import level_ends
from dbanon.algorithms.partitioning.mondrian import mondrian
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter


def ldiversity_mondrian(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with strict Mondrian whose cuts meet the whole constraint, including l-diversity.

    With the option base = 'incognito', return the best full-domain generalization that meets it instead (see
    `dbanon.algorithms.full_domain.lattice_search`).
    """
    if options["base"] == "incognito":
        return search_full_domain(space, constraint, "ldiversity_mondrian", check)
    return mondrian(space, constraint, options, check)


register(
    ldiversity_mondrian,
    title="l-diverse strict Mondrian",
    summary=(
        "Runs strict Mondrian, and cuts only where both sides have at least `l` different sensitive values (default "
        "2). With `base := 'incognito'`, it raises each column to one level for all records (full-domain "
        "generalization)."
    ),
    source="Machanavajjhala et al. 2006 on LeFevre et al. 2006 (base 'incognito': LeFevre et al. 2005); baseline "
    "of Majeed et al. 2024, who name no algorithm and no l",
    evidence="textbook",
    complexity="O(n log n) time, O(n) memory; base 'incognito': O(n) time per node, exponential in the columns",
    own_parameters=(
        Parameter(
            "base",
            Choice(("mondrian", "incognito")),
            "The algorithm whose classes meet the model: Mondrian; or Incognito, which raises each column to one "
            "level for all records, with the least sum of levels and, among equal sums, the least loss.",
            "mondrian",
        ),
    ),
    defaults={"l": 2},
    meets=ALL_MODELS,
    abilities=(Widening(level_ends, lambda options: options["base"] == "incognito"),),
)
