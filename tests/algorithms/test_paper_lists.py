"""The lists of metrics, attacks, data sets, tables and figures of the papers in docs/papers.md."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dbanon.table_functions.registry import table_functions
from tests.bench import s1_experiments

DOCS = Path(__file__).resolve().parents[2] / "docs"

PAPERS = {
    "K": "KACPC",
    "S": "similarity-and-diversity",
    "T": "three-variants",
    "M": "k-members",
    "R": "review",
}
"""Short names of the papers, by the letters that the lists below use."""

METRICS = {
    "information loss by heights (1)": ("K", "information_loss"),
    "precision (2)": ("K", "precision"),
    "distance of records by heights and leaves (3 to 6)": ("K", "kacpc"),
    "normalized distance of records": ("MR", "kmember"),
    "information loss of a cluster, total information loss": ("TMR", "total_information_loss"),
    "discernibility": ("TR", "discernibility discernibility_suppression"),
    "square error": ("T", "square_error"),
    "disclosure risk D (13, 14)": ("S", "disclosure_equation_13 disclosure_majority"),
    "exposure E (15)": ("S", "exposure"),
    "distortion DM (16)": ("S", "distortion"),
    "infeasible query results IQR (17)": ("S", "infeasible_classes"),
    "influence of a column (2 to 8)": ("S", "influence"),
    "cosine similarity CS, diversity Div (9, 12)": ("S", "simdiv"),
    "accuracy of attack I": ("S", "accuracy attack_summary"),
    "probability of attack II": ("S", "success attack_summary"),
    "accuracy of a classifier (Table 7)": ("S", "accuracy ml_utility"),
    "stability of values (Figure 8)": ("S", "stability"),
    "running time": ("KSR", "seconds compare"),
    "scalability": ("SR", "sample_sizes compare"),
    "entropy of a class (1, 2)": ("R", "l_diversity"),
    "recursive (c, l)-diversity (3)": ("R", "recursive_c"),
    "Earth Mover's Distance of a class": ("R", "t_closeness"),
    "information loss by bounds (7)": ("R", "numeric_information_loss_average"),
    "Kullback-Leibler divergence (11)": ("R", "kl_divergence"),
    "its entropy form (12)": ("R", "statement"),
    "average class size CAVG (13)": ("R", "c_avg"),
    "classification accuracy CA (14)": ("R", "accuracy ml_utility"),
    "F-measure (15)": ("R", "f_measure ml_utility"),
    "normalized certainty penalty NCP": ("R", "ncp gcp"),
    "average information loss of a stream": ("R", "average_loss"),
    "average delay": ("R", "average_delay"),
    "suppressed records of a stream": ("R", "suppression"),
    "cardinality-aware information loss CAIL": ("R", "ubdsa"),
    "number of iterations": ("S", None),
    "greatest distance within clusters": ("MR", None),
    "usefulness, protection": ("R", None),
    "information distortion": ("R", None),
    "anonymity degree, quality of clusters": ("R", None),
    "cost metric of FAST": ("R", None),
    "degree of privacy, data utility": ("R", None),
    "data distortion, compatibility": ("R", None),
    "clustering accuracy, diversity, anonymity": ("R", None),
    "clustering validity indices": ("R", "davies_bouldin cluster_agreement ml_utility"),
}
"""Metrics: the papers that name each, and what measures it here (None: nothing)."""

ATTACKS = {
    "linking attack, record linkage": ("KTMSR", "linkage"),
    "identity disclosure": ("S", "reidentification linkage"),
    "membership disclosure": ("S", "membership"),
    "disclosure of a sensitive value": ("SR", "disclosure majority"),
    "exposure of the dominant value": ("S", "exposure"),
    "AI-powered attack I: prediction": ("S", "prediction"),
    "AI-powered attack II: reconstruction": ("S", "reconstruction"),
    "journalist scenario": ("S", "reidentification"),
    "marketer scenario": ("S", "reidentification"),
    "homogeneity attack": ("R", "homogeneity"),
    "background knowledge attack": ("SR", "background"),
    "skewness attack": ("R", "skewness"),
    "similarity attack": ("R", "similarity"),
    "re-identification by repeated groups of a stream": ("R", None),
    "privacy-breach attack": ("R", None),
    "poisoned data": ("S", None),
}
"""Attacks and threats: the papers that name each, and what tries or measures it here (None: nothing)."""

DATA_SETS = {
    "Adult": ("KTSR", "adult.csv adult_raw.csv"),
    "Care plans of Synthea": ("S", "synthea_careplans.parquet"),
    "Diabetes 130-US hospitals": ("S", "diabetes130.parquet"),
    "Bkseq": ("S", None),
    "six records with courses and scores": ("M", None),
    "eleven medical records, voter list": ("R", None),
    "Iris, Wine, Zoo": ("R", None),
    "EMRDbots": ("R", None),
    "Heart Disease, Kasandra, Statlog, HEPMASS": ("R", None),
    "synthetic data set of PPC": ("R", None),
    "Income-Census (KDD), Bank Credit": ("R", None),
    "Poker Hand": ("R", None),
    "SFU-Adult": ("R", None),
    "Pen-Based Recognition of Handwritten Digits": ("R", None),
    "human disease ontology": ("R", None),
    "Telco": ("R", None),
    "Nursery": ("R", None),
    "INFORMS": ("R", None),
    "data of a medical information company in Hangzhou": ("R", None),
}
"""Data sets: the papers that use each, and the files of it that the benchmarks read (None: none)."""

TABLES_AND_FIGURES = {
    "K": {"Table": 0, "Figure": 7},
    "T": {"Table": 0, "Figure": 8},
    "M": {"Table": 3, "Figure": 0},
    "S": {"Table": 8, "Figure": 15},
    "R": {"Table": 4, "Figure": 2},
}
"""By paper: the number of its numbered tables and figures."""

NOT_REBUILT = {
    "K": ("Figure 2",),
    "T": (),
    "M": ("Table 1", "Table 2"),
    "S": ("Table 1", "Figure 1", "Figure 2", "Figure 3", "Figure 4", "Figure 5"),
    "R": ("Table 1", "Table 2", "Table 3", "Table 4", "Figure 1", "Figure 2"),
}
"""By paper: the tables and figures that are not rebuilt."""

LISTS = {
    "Metrics that the papers name": METRICS,
    "Attacks and threats that the papers name": ATTACKS,
    "Data sets that the papers use": DATA_SETS,
}


def table_rows(section: str) -> list[list[str]]:
    """Return the cells of the rows of the table in a section of docs/papers.md."""
    text = (DOCS / "papers.md").read_text(encoding="utf-8").partition(f"## {section}\n")[2].partition("\n## ")[0]
    return [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")][1:]


def is_open(here: str) -> bool:
    """Return whether the cell of a row says that nothing was built, with the reason."""
    return re.match(r"not (built|used|rebuilt): \S", here) is not None


@pytest.mark.parametrize("section", LISTS)
def test_page_lists_what_papers_name(section: str) -> None:
    rows = {name: (papers.split(", "), here) for name, papers, here in table_rows(section)}
    assert len(rows) == len(table_rows(section))
    assert {name: set(papers) for name, (papers, _) in rows.items()} == {
        name: {PAPERS[letter] for letter in papers} for name, (papers, _) in LISTS[section].items()
    }
    for name, (_, here) in rows.items():
        expected = LISTS[section][name][1]
        assert is_open(here) == (expected is None), name
        assert all(word in here for word in (expected or "").split()), name


def test_page_names_every_table_and_figure_once() -> None:
    listed: dict[str, dict[str, bool]] = {letter: {} for letter in PAPERS}
    letters = {name: letter for letter, name in PAPERS.items()}
    roman = {"I": "1", "II": "2", "III": "3"}
    for paper, numbers, _, here in table_rows("Tables and figures of the papers"):
        kind, _, spans = numbers.partition(" ")
        ends = [int(roman.get(end, end)) for end in re.split(r", | to ", spans)]
        for number in range(ends[0], ends[-1] + 1) if " to " in spans else ends:
            one = f"{kind.removesuffix('s')} {number}"
            assert one not in listed[letters[paper]], (paper, one)
            listed[letters[paper]][one] = is_open(here)
    for letter, kinds in TABLES_AND_FIGURES.items():
        assert set(listed[letter]) == {f"{kind} {i + 1}" for kind, number in kinds.items() for i in range(number)}
        assert {one for one, is_missing in listed[letter].items() if is_missing} == set(NOT_REBUILT[letter])


def test_names_in_lists_are_documented() -> None:
    """Functions, metrics, attacks and columns of the lists occur on other pages; experiments exist."""
    pages = "\n".join(p.read_text(encoding="utf-8") for p in DOCS.rglob("*.md") if p.name != "papers.md")
    known = set(re.findall(r"`(\w+)`|^## (\w+)$|kind = '(\w+)'", pages, re.MULTILINE))
    documented = {name for names in known for name in names if name} | set(table_functions())
    for section in ("Metrics that the papers name", "Attacks and threats that the papers name"):
        for *_, here in table_rows(section):
            names = set(re.findall(r"`(\w+)`", here))
            assert names <= documented, names - documented
    page = (DOCS / "papers.md").read_text(encoding="utf-8")
    experiments = set(re.findall(r"--experiment (\w+)", page)) - {"NAME"}
    assert experiments == set(s1_experiments.EXPERIMENTS)
