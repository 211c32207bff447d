"""Mondrian run level by level, as map and reduce do it."""

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.noise import EPSILON_RANGE, Noise
from dbanon.algorithms.base.registry import ALL_MODELS, Check, NoiseRelease, Options, register
from dbanon.algorithms.partitioning.partition_tree import first_allowable_cut, parts_to_labels, split_by_level
from dbanon.encoding.encoded_table import EncodedTable
from dbanon.privacy_models.constraint import Constraint
from dbanon.table_functions.parameters import Parameter


def imitated_noise(options: Options) -> Noise | None:
    """Return the noise that a call of `mr_mondrian` publishes, or None if it publishes classes.

    Numbers get noise whose scale is the table's range over epsilon, and may exceed that range, as Figure 8 of Majeed et
    al. 2024 shows them. Categories are published as those of classes.
    """
    epsilon = options["noise_epsilon"]
    if epsilon is None:
        return None
    return Noise(f"noise_epsilon = {epsilon}", float(str(epsilon)), by_column=True, categories=False)


def mr_mondrian(space: EncodedTable, constraint: Constraint, options: Options, check: Check) -> RunLengthLabels:
    """Cluster with MRMondrian: strict Mondrian run level by level, as map and reduce do it.

    All parts of a level are cut before any part of the next; the classes are those of `mondrian`. Majeed et al. 2024
    show negative ages under this name; they are noise, which no Mondrian adds: `noise_epsilon` imitates them. O(n
    log n) time for balanced cuts, O(n) memory.
    """
    classes = split_by_level(
        space, constraint.min_records, lambda part: first_allowable_cut(space, constraint, part, True), check
    )
    return parts_to_labels([part for part, _ in classes])


register(
    mr_mondrian,
    title="Strict Mondrian, level by level",
    summary=(
        "Runs strict Mondrian one round of cuts at a time, as a parallel program would; the classes are those of "
        "`mondrian`. With `noise_epsilon`, it publishes numbers with noise."
    ),
    source="Zhang et al. 2022 on LeFevre et al. 2006",
    evidence="textbook",
    complexity="O(n log n) time, O(n) memory",
    own_parameters=(
        Parameter(
            "noise_epsilon",
            EPSILON_RANGE,
            "Publish numbers with noise instead of classes, which is not k-anonymous. The scale of the noise is the "
            "column's range divided by this, as in the figures of the paper.",
        ),
    ),
    abilities=(NoiseRelease(imitated_noise),),
    meets=ALL_MODELS,
)
