"""What attacks on a release gain, by its source. Nothing of this goes out: all follows from values of the source."""

from collections.abc import Mapping, Sequence

from dbanon.errors import DbanonError
from dbanon.publishing.report.blocks import Note, Part, Section, Table, shown
from dbanon.publishing.report.columns import Before
from dbanon.publishing.report.queries import Asking, values

_OF_CLASSES = {
    "homogeneity": "Who finds somebody's class reads off a sensitive value that all of its records share.",
    "background": "Who finds somebody's class, and knows one value of it that they do not have, is left with a single "
    "one.",
    "similarity": "Who finds somebody's class learns that its sensitive values are all of one kind, by their "
    "hierarchy.",
    "skewness": "Who finds somebody's class is surer of a sensitive value than without the release, by a chance of 0.2 "
    "or more.",
    "minimality": "Who knows the algorithm, and that it generalized no more than it had to, concludes that a value was "
    "too frequent among some records.",
    "reconstruction": "Who guesses exact values behind those that are published, and the sensitive value with them.",
    "downcoding": "Who knows that ranges and nodes are as tight as they can be concludes that some records lie at "
    "their ends.",
}
"""Attacks on single classes that are tried, and what each does."""

_TELLING = "value <> 0 OR (value = 0 AND name IN ('guesses', 'observed'))"
"""Rows of attack_summary that say something."""

PAIRS = 100_000_000
"""Pairs of a record and a class that linkage and majority look at: seconds."""

LEAST = 1000
"""Records that are tried, however many classes there are."""

_COLUMNS = ("attribute", "name", "value", "by_mode", "on_raw", "description")
_HEAD = ("column", "number", "value", "by the most frequent value", "by the raw data", "what it is")


def attacks(asking: Asking, before: Before | None) -> Section:
    """What each attack gains, by the source; without it, that none was tried."""
    if before is None:
        said = ["No attack was tried: the source is not there as it was released, and only it says who is right."]
        return Section("attacks", "Attacks", said)
    parts = [*linkage(asking, before), *majority(asking)]
    for kind, does in _OF_CLASSES.items():
        if kind == "minimality" and asking.entry.options.get("alpha") is None:
            continue
        if kind != "downcoding" and not asking.shape.sensitive:
            continue
        columns = ("attribute", "name", "value", "description")
        try:
            asked = asking.function("attack_summary", columns, {"kind": kind}, _TELLING)
        except DbanonError as problem:
            if kind != "similarity":  # it takes a hierarchy of sensitive values, which few have
                parts.append(_untried(kind, problem))
            continue
        rows = asking.rows(asked)
        parts.append(Note(f"{does} {_result(rows)}", kind.capitalize()))
        parts.append(Table(f"The numbers of {kind}", ("column", "number", "value", "what it is"), rows, asked.shown))
    said = [
        "These attackers read the release and know whom they look for. The source says how often they are right. "
        "Nothing of this chapter goes out: its numbers follow from values that nobody is shown.",
        "Linkage with tables of other people, and prediction by a random forest, take what is not at hand here: "
        "attack_summary does both.",
    ]
    return Section("attacks", "Attacks", said, parts)


def linkage(asking: Asking, before: Before) -> list[Part]:
    """Everybody of the source is looked up in the release by their quasi-identifiers."""
    names = "('registered', 'tried', 'linked', 'candidates_least', 'candidates_median', 'exact_matches', 'confidence')"
    given: dict[str, object] = {"kind": "linkage", "register": before.name, "threshold": 0.0, **_sample(asking)}
    try:
        asked = asking.function("attack_summary", _COLUMNS, given, f"name IN {names}")
    except DbanonError as problem:
        return [_untried("linkage", problem)]
    rows = asking.rows(asked)
    of, raw = values([row[1:3] for row in rows]), {row[1]: row[4] for row in rows}
    sentences = [
        "Who has a table of everybody in the source, by name and with the exact quasi-identifiers, looks each of them "
        f"up in the release.{_drawn(of)}",
        f"{shown(of['linked'])} of {shown(of.get('tried', of['registered']))} records of the source fit records of the "
        "release.",
    ]
    if of["linked"]:
        sentences.append(
            f"Each of them fits at least {shown(of['candidates_least'])}, in the median "
            f"{shown(of['candidates_median'])}; {shown(of['exact_matches'])} fit one alone, where by the exact values "
            f"of the source {shown(raw['exact_matches'])} would. Picking one of those that somebody fits is right with "
            f"a chance of {shown(of['confidence'])} on average."
        )
    return [Note(" ".join(sentences), "Linkage"), Table("The numbers of linkage", _HEAD, rows, asked.shown)]


def majority(asking: Asking) -> list[Part]:
    """Of everybody in the source the most frequent value of what they fit is guessed."""
    if not asking.shape.sensitive:
        return []
    given: dict[str, object] = {"kind": "majority", **_sample(asking)}
    try:
        asked = asking.function("attack_summary", _COLUMNS, given, "name IN ('accuracy', 'asked')")
    except DbanonError as problem:
        return [_untried("inference", problem)]
    rows = asking.rows(asked)
    sentences = [
        "Who knows that somebody is in the release, and their quasi-identifiers, guesses the sensitive value that is "
        f"most frequent among the records that they fit.{_drawn(given)}",
    ]
    for column in dict.fromkeys(row[0] for row in rows):
        right = next(row for row in rows if row[:2] == (column, "accuracy"))
        if right[2] is None:
            sentences.append(f"{shown(column)}: nobody has a value that could be guessed.")
            continue
        sentences.append(
            f"{shown(column)}: a share of {shown(right[2])} is guessed right. Always guessing the most frequent value "
            f"of the release is right for {shown(right[3])}, and who has the source would be right for "
            f"{shown(right[4])}."
        )
    sentences.append(
        "What is gained over the most frequent value is what quasi-identifiers tell of anybody, and also each person's "
        "own record, which is among those that are counted: in small classes it alone makes a gain."
    )
    return [Note(" ".join(sentences), "Inference"), Table("The numbers of inference", _HEAD, rows, asked.shown)]


def _sample(asking: Asking) -> dict[str, object]:
    """How many records are tried, where these are not all."""
    metrics = asking.certificate.metrics
    most = max(int(PAIRS // max(metrics["classes"], 1)), LEAST)
    return {} if metrics["records"] <= most else {"sample": most}


def _drawn(of: Mapping[str, object]) -> str:
    tried = of.get("tried", of.get("sample"))
    if tried is None:
        return ""
    return f" To be done in seconds, this was tried with {shown(tried)} records, drawn by a hash."


def _untried(kind: str, problem: DbanonError) -> Note:
    return Note(f"{kind.capitalize()}: this could not be tried. {problem}")


def _result(rows: Sequence[Sequence[object]]) -> str:
    """What came of it, column by column, in words."""
    said = []
    for column in dict.fromkeys(row[0] for row in rows):
        of = values([row[1:] for row in rows if row[0] == column])
        if of.get("guesses"):
            told = f"{shown(of['guesses'])} guesses are sure enough, about {shown(of.get('exposed_people', 0))} people"
            told += f", and a share of {shown(of['observed'])} is right" if "observed" in of else ""
            said.append(f"{shown(column)}: {told}.")
        if of.get("success"):
            said.append(f"{shown(column)}: a share of {shown(of['success'])} of the records is guessed exactly.")
        if of.get("known"):
            said.append(f"{shown(column)}: {shown(of['known'])} records are known to be there, though not whose.")
    return " ".join(said) if any("sure" in one for one in said) else " ".join(["No guess is sure enough.", *said])
