"""The algorithms: one folder for each family, one file with its registration for each algorithm."""

from dbanon.algorithms.base.assignments import RunLengthLabels
from dbanon.algorithms.base.noise import Noise, NoisyRecords, draw_noisy_records, shuffle_cluster_numbers
from dbanon.algorithms.base.registry import Algorithm, PublishedEnds, algorithms, find
from dbanon.algorithms.postprocess.improve import SearchBudget
from dbanon.algorithms.postprocess.multivalued_diversity import LinkedDiversity, LinkedValues, diversify_clusters
from dbanon.algorithms.postprocess.widen import widen_clusters
from dbanon.algorithms.runner import MessageNames, Refinement, clusterable_records, max_level_blocks, run_algorithm

__all__ = [
    "Algorithm",
    "LinkedDiversity",
    "LinkedValues",
    "MessageNames",
    "Noise",
    "NoisyRecords",
    "PublishedEnds",
    "Refinement",
    "RunLengthLabels",
    "SearchBudget",
    "algorithms",
    "clusterable_records",
    "diversify_clusters",
    "draw_noisy_records",
    "find",
    "max_level_blocks",
    "run_algorithm",
    "shuffle_cluster_numbers",
    "widen_clusters",
]
