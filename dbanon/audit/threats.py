"""The functions about risk and attacks: names, parameters, numbers. What they run is risk.py and attack.py."""

from __future__ import annotations

from dataclasses import dataclass

from dbanon.functions.parameter_types import SEEDS, Choice, Columns, Flag, Integer, PerColumn, Real, Text
from dbanon.functions.parameters import Parameter

_SOURCE = Parameter(
    "source",
    Text("a table's name"),
    "The table that was released: its policy says what the columns are; default: that of the release.",
)
_QI = Parameter("qi", Columns(), "The columns whose values make the classes; default: the declared quasi-identifiers.")
_SENSITIVE = Parameter(
    "sensitive", Columns(), "The columns that are judged; default: the declared sensitive ones that were released."
)
_PERSON = Parameter(
    "person",
    Text("a column name"),
    "A column of the release: distinct persons are counted instead of records; default: the declared one, if released.",
)
_CLASSES = Parameter(
    "classes",
    Choice(("published", "cluster")),
    "A class: records of equal published values, as a reader sees them, or clusters, by the column class_id.",
    "published",
)
_HIERARCHIES = Parameter(
    "hierarchies",
    PerColumn(Text("a hierarchy's name"), "{'zip': 'zip5'}"),
    "Hierarchy of a column: a name, or ARX rows as text; default: the declared one.",
)
_POPULATION = Parameter(
    "population",
    Text("a table's name"),
    "A table of everybody the released people may be among, with quasi-identifiers as in the source.",
)
_FRACTION = Parameter(
    "fraction",
    Real(0, 1, above=True),
    "Instead of a population: the share of it that was released; a class stands for size / fraction people.",
)
_THRESHOLD = Parameter("threshold", Real(0, 1), "Records at risk are those whose risk is above it.", 0.2)
_TIES = Parameter(
    "ties",
    Choice(("skip", "count")),
    "Classes in which the dominant value shares the lead with another one: not exposed, or exposed.",
    "skip",
)
_SAMPLE = Parameter(
    "sample",
    Real(0, 1, above=True),
    "Share of the classes, rounded up, that the number is estimated from: drawn by a hash of what they publish.",
    1.0,
)
_INFLUENCE = Parameter(
    "influence", PerColumn(Real(0), "{'age': 0.8}"), "Weight of a column in the distortion; default 1."
)
_NORM = Parameter(
    "norm",
    Flag(),
    "Divide levels by the greatest one, so that * counts 1; by default by their number, as the paper does.",
    False,
)
_W = Parameter("w", Real(0, 1), "Share of a column's range from which on an interval is too wide, exclusive.", 0.5)


@dataclass(frozen=True)
class Function:
    """One table function about risk; `numbers` are the groups of numbers that it gives."""

    name: str
    parameters: tuple[Parameter, ...]
    doc: str
    numbers: tuple[str, ...] = ()


_REIDENTIFICATION = (_POPULATION, _FRACTION, _THRESHOLD)
RISKS = (
    Function(
        "risk",
        (
            *(_SOURCE, _QI, _SENSITIVE, _PERSON, _CLASSES, _HIERARCHIES, *_REIDENTIFICATION),
            *(_TIES, _INFLUENCE, _NORM, _W),
        ),
        "All numbers below, one a row, each with the classes that drive it.",
        ("reidentification", "uniqueness", "together", "disclosure", "exposure", "distortion", "infeasible_classes"),
    ),
    Function(
        "reidentification",
        (_SOURCE, _QI, _PERSON, _CLASSES, _HIERARCHIES, *_REIDENTIFICATION),
        "Risk that a record is told to be somebody's: prosecutor, journalist, marketer; highest, average, share above "
        "a threshold.",
        ("reidentification",),
    ),
    Function(
        "uniqueness",
        (_SOURCE, _QI, _PERSON, _CLASSES, _HIERARCHIES, _POPULATION),
        "Share of records alone in their class, and with a population table, of those that fit one person of it.",
        ("uniqueness",),
    ),
    Function(
        "disclosure",
        (_SOURCE, _QI, _SENSITIVE, _PERSON, _CLASSES),
        "Risk that a sensitive value is guessed from a class: by its values, and by the dominant one (S1, Eq. 13).",
        ("disclosure",),
    ),
    Function(
        "exposure",
        (
            *(_SOURCE, _QI, _SENSITIVE, _PERSON, _CLASSES, _TIES, _SAMPLE),
            Parameter("seed", Integer(0, SEEDS), "Another seed, another sample.", 0),
        ),
        "Share of the table's most frequent sensitive value that lies in classes where it leads (paper S1, Eq. 15); "
        "NULL where it does not occur in the sample.",
        ("exposure",),
    ),
    Function(
        "distortion",
        (_SOURCE, _QI, _HIERARCHIES, _INFLUENCE, _NORM),
        "Average level to which quasi-identifiers were generalized, weighted by influence (paper S1, Eq. 16).",
        ("distortion",),
    ),
    Function(
        "infeasible_classes",
        (_SOURCE, _QI, _HIERARCHIES, _W),
        "Number of classes that queries are badly answered on: suppressed, open or wide values (paper S1, Eq. 17).",
        ("infeasible_classes",),
    ),
)


# --- attacks ---------------------------------------------------------------------------------------------

KINDS = (
    "homogeneity",
    "skewness",
    "similarity",
    "background",
    "linkage",
    "prediction",
    "reconstruction",
    "minimality",
    "downcoding",
)
"""The attacks, each one file in sql/audit/attack/."""

THRESHOLDS = {"homogeneity": 1.0, "similarity": 1.0, "background": 1.0, "skewness": 0.2}
"""Confidence from which on somebody counts as exposed, where it is not 0.5; of skewness: gain in confidence."""

_ATTACK = (
    Parameter(
        "kind",
        Choice(KINDS),
        "The attack: what the attacker knows and does.",
        required=True,
        example="kind = 'homogeneity'",
    ),
    Parameter(
        "source",
        Text("a table's name"),
        "The table that was released: whom the attacker looks for, and what is true.",
        required=True,
        example="source = 'patients'",
    ),
    _QI,
    _SENSITIVE,
    Parameter(
        "person",
        Text("a column name"),
        "The column of the source that names people; default: the declared person, else their quasi-identifiers do.",
    ),
    _HIERARCHIES,
    Parameter(
        "register",
        Text("a table's name"),
        "linkage: the table of known people. prediction: unseen people, with their sensitive values, to be guessed.",
    ),
    Parameter(
        "threshold",
        Real(0, 1),
        "Confidence from which on somebody counts as exposed. Default: 1 for homogeneity, similarity, background; "
        "alpha for minimality, exclusive; else 0.5. skewness: least gain over the whole table, default 0.2.",
    ),
    Parameter("facts", Integer(0), "background: how many sensitive values the attacker can rule out.", 1),
    Parameter("k", Integer(1), "minimality: the k of the release; default: its smallest class."),
    Parameter("l", Integer(2), "minimality: the release lets no value have a share above 1 / l in a class."),
    Parameter(
        "alpha", Real(0, 1, above=True), "minimality: the release lets no value have a greater share in a class."
    ),
    Parameter("seed", Integer(0, SEEDS), "prediction: another seed, another split and forest.", 1),
    Parameter(
        "train",
        Real(0, 1, above=True),
        "prediction: share of the people whose records the model learns from; the others are guessed.",
        0.67,
    ),
)
ATTACKS = (
    Function(
        "attack",
        _ATTACK,
        "Whom or which class an attack exposes: guess, how sure the attacker is, without the release, how often right.",
    ),
    Function(
        "attack_summary",
        _ATTACK,
        "What an attack gains in all, beside guessing the most frequent value and the same attack on the raw data.",
    ),
)
