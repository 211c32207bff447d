"""Incognito: the best of all full-domain generalizations."""

from dbanon.algorithms.base.registry import (
    ALL_MODELS,
    MAX_SUPPRESSED,
    Assignment,
    Check,
    Options,
    Suppression,
    register,
)
from dbanon.algorithms.full_domain.lattice_search import search_full_domain
from dbanon.algorithms.full_domain.recoding import FULL_RECODING, MAX_SUPPRESSED_PARAMETER, RECODING
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint


def incognito(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with Incognito (LeFevre et al. 2005): the best full-domain generalization that meets the constraint.

    Records that may be suppressed are excepted. The best generalization has the least sum of levels; of several the
    least loss as tight classes; then it is the first (see `dbanon.algorithms.full_domain.lattice_search`). Levels are
    steps up a hierarchy; of a number without one, blocks of 1, 2, 4, 8 ... distinct values; NULL joins the other values
    at the top. Exponential in the columns, O(n) time per node, O(n) memory.

    Raises:
        TooManyLevelsError: If the lattice has more than MAX_NODES nodes.
    """
    return search_full_domain(space, constraint, "incognito", check, int(str(options[MAX_SUPPRESSED])))


def max_suppressed_records(options: Options, k: int) -> int | None:
    """Return the option `max_suppressed`; None if it is not given.

    `k` is not read.
    """
    return None if options["max_suppressed"] is None else int(str(options["max_suppressed"]))


SUPPRESSION = Suppression(
    "those in classes that violate the privacy model", max_suppressed_records, lambda options, k: 0, is_complete=True
)

register(
    incognito,
    title="Incognito",
    summary="Finds the full-domain generalization with the least sum of levels.",
    source="LeFevre et al. 2005",
    evidence="textbook",
    complexity="exponential in the columns, O(n) time per node, O(n) memory",
    own_parameters=(MAX_SUPPRESSED_PARAMETER, RECODING),
    defaults={"suppress": 1.0},
    meets=ALL_MODELS,
    abilities=(FULL_RECODING, SUPPRESSION),
)
