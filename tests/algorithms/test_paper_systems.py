"""The list of the systems that the papers name; algorithms differ from their neighbours as their sources say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from support import by_row

from dbanon import algorithms
from dbanon.algorithms import streams
from dbanon.algorithms.base.loss import Loss
from dbanon.algorithms.base.registry import EVIDENCE
from dbanon.encoding.encoded_table import EncodedTable, Ints, NumericAttribute, encode_table
from dbanon.privacy_models.constraint import Constraint
from dbanon.privacy_models.model_request import model_requirements

K = 3

PAGE = Path(__file__).resolve().parents[2] / "docs" / "papers.md"

SYSTEMS: dict[str, tuple[str, ...]] = {
    "KACPC": ("kacpc",),
    "MDAV, MDAV-generic": ("mdav",),
    "IKAC (IKA)": ("ikac",),
    "OKA": ("oka",),
    "GAA-CP": ("gaa_cp",),
    "F-MDAV": ("fmdav",),
    "K-Optimize": ("k_optimize",),
    "bottom-up generalization": ("bottom_up_generalization",),
    "KACA": ("kaca",),
    "WF-C-means": ("wfcmeans",),
    "r-gather, (r, ε)-gather": ("r_gather",),
    "r-cellular clustering": ("r_cellular",),
    "systematic clustering, equal and unequal combination": ("systematic", "bhaladhare"),
    "adaptive k-anonymity (Arava)": ("adaptive_k",),
    "Samarati's search": ("samarati",),
    "Algorithms No. 1, No. 2, No. 3": ("kmeans_no1", "kmeans_no2", "kmeans_no3"),
    "greedy k-member": ("kmember",),
    "k-members with random seeds": ("kmembers_random",),
    "the algorithm of Loukides and Shao": ("loukides_shao",),
    "similarity- and diversity-based clustering": ("simdiv",),
    "MWCK": ("mwck",),
    "RKA": ("rka",),
    "ELD": ("eld",),
    "l-diversity": ("ldiversity_mondrian",),
    "MRMondrian, MapReduce Mondrian": ("mr_mondrian",),
    "WKMCA": ("wkmca",),
    "k-means++ for the healthcare cloud": ("kmeanspp_cloud",),
    "DHkmeans": ("dhkmeans",),
    "KNN-(G,S), PPC": ("knn_gs",),
    "Mondrian": ("mondrian",),
    "Datafly": ("datafly",),
    "Incognito": ("incognito",),
    "k-Similar": ("k_similar",),
    "hybrid of OKA and k-member": ("oka_kmember",),
    "clustering by a genetic algorithm": ("ga_clustering",),
    "organized clustering": ("organized",),
    "GCCG": ("gccg",),
    "(K,L)-member": ("kl_member",),
    "KMCSSA": ("kmcssa",),
    "multi-level clustering with aggregation": ("multilevel_mdav",),
    "MCKL": ("mckl",),
    "KNN": ("knn_anon",),
    "PPPC": ("pppc",),
    "S-CPM": ("s_cpm",),
    "TDS-PP": ("tds",),
    "dissimilarity tree": ("dissimilarity_tree",),
    "KAPP": ("kapp",),
    "SWAF": ("swaf",),
    "CASTLE, B-CASTLE": ("castle", "b_castle"),
    "FAANST": ("faanst",),
    "FADS": ("fads",),
    "FAST": ("fast",),
    "(k,l)-clustering of streams": ("kl_clustering",),
    "the algorithm of Puri and Haritha": ("puri_haritha",),
    "UBDSA, CUDSA": ("ubdsa", "cudsa"),
    "IDEA": ("idea",),
    "K-VARP, IoT anonymity": ("k_varp", "iot_anonymity"),
}
"""The functions of each system that the papers name, as docs/papers.md lists them."""

NOT_BUILT = (
    "MinGen",
    "greedy heuristics of Babu",
    "(d, q)-division",
    "median-based microaggregation of categories",
    "greedy algorithm of µ-Argus",
    "SBC",
    "SWAP",
    "constrained collaborative clustering",
    "two-level anonymization",
    "distributed k-means with local differential privacy",
    "distributed k-means of Canbay",
    "KAB",
    "kRPP",
    "anonymity model of Huang",
    "distributed l-diversity of RDF",
    "clustering for IoT health data",
    "fair clustering",
    "CKA, CKL",
    "AKA",
    "Frequency(G,S)",
    "CPPA, SKAM, PAMSI",
    "enhanced clustering",
    "Fourier part of multi-level clustering",
    "evaluation by Ferrao",
)
"""The systems that are not built."""


def points(rows: int = 90) -> EncodedTable:
    """Return records of two numbers, most of them different, and a sensitive column with a frequent value."""
    draws = np.random.default_rng(3)
    numbers = [NumericAttribute(np.arange(40.0), True, magnitudes=np.arange(40.0)) for _ in range(2)]
    columns = [draws.integers(0, 40, rows).astype(np.int32) for _ in numbers]
    disease = (np.minimum(draws.integers(0, 8, rows), 3).astype(np.int32), 4, None)
    return encode_table(numbers, columns, np.arange(rows, dtype=np.uint64), None, None, [disease])[0]


def labels(name: str, space: EncodedTable, constraint: Constraint | None = None, **given: object) -> Ints:
    defaults = {p.name: p.default for p in algorithms.find(name).own_parameters} | {"mode": "deterministic"} | given
    return by_row.labels(algorithms.find(name).run(space, constraint or Constraint(K), defaults, lambda: None))


def total_loss(space: EncodedTable, labels: Ints) -> int:
    codes, loss, total = space.codes[space.tuple_of], Loss(space, K, "edges"), 0
    for cluster in np.unique(labels):
        rows = codes[labels == cluster]
        total += len(rows) * int(loss.record_losses(rows.min(axis=0)[None], rows.max(axis=0)[None])[0])
    return total


def test_organized_loses_less_than_bhaladhare_on_scattered_points() -> None:
    space = points()
    losses = {name: total_loss(space, labels(name, space)) for name in ("organized", "bhaladhare", "kmember")}
    assert losses["organized"] < losses["bhaladhare"]
    assert losses["organized"] < 2 * losses["kmember"]


def test_kapp_reaches_default_t_with_several_classes() -> None:
    space = points()
    constraint = Constraint(K, model_requirements("kapp", "points", {"t": 0.1}, ["disease"]))
    result = labels("kapp", space, constraint)
    assert len(np.unique(result)) > 3
    for cluster in np.unique(result):
        assert not len(constraint.failing_clusters(space, [np.flatnonzero(result == cluster)]))


def test_rka_without_noise_coincides_with_kmember() -> None:
    space = points()
    assert labels("rka", space, release="class").tolist() == labels("kmember", space).tolist()


def test_page_lists_systems_that_papers_name() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## Systems that the papers name\n")[2].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| ")][1:]
    built = {system: tuple(re.findall(r"`(\w+)`", here.partition(";")[0])) for system, _, here in rows
             if not here.startswith("not built: ")}  # fmt: skip
    assert built == SYSTEMS
    assert [system for system, _, here in rows if here.startswith("not built: ")] == list(NOT_BUILT)
    named_papers = {paper for _, papers, _ in rows for paper in papers.split(", ")}
    assert named_papers == {"KACPC", "similarity-and-diversity", "three-variants", "k-members", "review"}


def test_every_algorithm_of_papers_is_listed() -> None:
    """Others are the project's own, or of other papers."""
    names = {a.name for a in algorithms.algorithms()} | {s.name for s in streams.streams()}
    listed = {name for functions in SYSTEMS.values() for name in functions}
    assert listed - names == set()
    assert {a.name for a in algorithms.algorithms()} - listed == {"best", "v_mdav"}


def test_evidence_is_known_for_every_algorithm() -> None:
    for algorithm in (*algorithms.algorithms(), *streams.streams()):
        assert algorithm.evidence in EVIDENCE, algorithm.name
        assert (algorithm.evidence == "own") == (algorithm.name == "best")
