"""RKA: the clusters of k-member, published as classes or hidden in noise."""

from dbanon.algorithms.base.noise import EPSILON_RANGE, Noise
from dbanon.algorithms.base.registry import LARGE, MODE, SEED, Assignment, Check, NoiseRelease, Options, register
from dbanon.algorithms.greedy.least_loss import FARTHEST_SEED, grow_least_loss_groups
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameter_types import Choice
from dbanon.table_functions.parameters import Parameter


def rka(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> Assignment:
    """Cluster with RKA, random k-anonymous, reconstructed from Majeed et al. 2024: the clusters of k-member.

    Without noise it coincides with `kmember`: Majeed et al. 2024 (sections 2.2 and 4.4) describe the noise and the
    shuffling, not how the clusters are formed, and we did not have the paper of Song et al. 2019 itself.

    Within these clusters values can be hidden in noise and shuffled. By default the intervals and nodes of the clusters
    are published: k-anonymous, without noise. `release = 'noise'` publishes noisy values (see `requested_noise`), which
    is not k-anonymous for a reader of the rows. O(n^2) without the index, O(n) memory.
    """
    return grow_least_loss_groups(space, constraint, options, check, FARTHEST_SEED, "edges")


def requested_noise(options: Options) -> Noise | None:
    """Return the noise that a call of `rka` publishes, or None if it publishes classes.

    Its scale is the cluster's range over epsilon (default 1); categories are drawn too (card 1.8b).
    """
    if options["release"] != "noise":
        return None
    return Noise("release = 'noise'", float(str(options["epsilon"] or 1.0)))


register(
    rka,
    title="RKA: random k-anonymous",
    summary=(
        '"Random k-anonymous": forms the clusters of `kmember`, with which it coincides by default; with '
        "`release='noise'`, it publishes values hidden in noise and shuffled."
    ),
    source="Song et al. 2019, as Majeed et al. 2024 describe it",
    evidence="description",
    complexity="O(n^2) time without the index, O(n) memory",
    own_parameters=(
        Parameter(
            "release",
            Choice(("class", "noise")),
            "What is published: intervals and nodes of the classes, or values hidden in noise and shuffled within "
            "them, which is not k-anonymous.",
            "class",
        ),
        Parameter(
            "epsilon",
            EPSILON_RANGE,
            "With release = 'noise'; default 1. The scale of a number's noise is the range in its cluster divided by "
            "epsilon; a category is drawn in proportion to exp(epsilon * records / 2).",
        ),
        SEED,
        MODE,
        LARGE,
    ),
    abilities=(NoiseRelease(requested_noise, noise_only={"epsilon": "release is not 'noise'"}),),
)
