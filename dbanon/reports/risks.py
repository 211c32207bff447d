"""What a release leaves at risk: re-identification, disclosure, attacks; and how wrong answers on it are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dbanon.errors import DbanonError
from dbanon.plots import inline
from dbanon.reports.asking import Asking, values
from dbanon.reports.parts import Facts, Note, Part, Plot, Section, Table, shown
from dbanon.views.certificate import Line

Said = Mapping[tuple[str, str], Line]
"""The lines of a certificate by section and item."""

_COLUMNS = ("name", "sensitive", "value", "classes", "records", "description")
_HEAD = ("number", "sensitive column", "value", "classes", "records", "what it is")


def reidentification(asking: Asking, lines: Sequence[Line], population: str | None) -> Section:
    """Prosecutor, journalist and marketer, in sentences and numbers; for the custodian, disclosure as well."""
    said: Said = {(line.section, line.item): line for line in lines}
    people = "persons" if asking.shape.persons is not None else "records"
    highest, average = (said["risk", f"prosecutor, {which}"].value for which in ("highest", "average"))
    sentences = [
        f"The prosecutor knows that somebody is in the release, and their quasi-identifiers. This leads to a class of "
        f"at least {said['achieved', 'k'].value} {people}: picking one of them is right with a chance of at most "
        f"{_brief(highest)}, on average {_brief(average)}.",
        f"The marketer wants to name as many records as possible: drawing at random in each class, a share of "
        f"{_brief(said['risk', 'marketer, average'].value)} of the records is expected to be named right.",
        "The journalist knows somebody of a wider population, and not whether they are in the release. The population "
        "holds everybody who was released, so that this risk is never above the prosecutor's."
        + ("" if population else " How far below it is takes a table of the population."),
        "Who knows more than the quasi-identifiers, such as the unchanged columns, can be surer than that.",
    ]
    parts: list[Part] = [Facts([line for line in lines if line.section == "risk"])]
    if not asking.outgoing:
        given: dict[str, object] = {} if population is None else {"population": population}
        parts.append(_numbers(asking, "reidentification", "Risk of re-identification; above: above 0.2", given))
        for name, caption in (
            ("disclosure", "Chance to guess a sensitive value from its class"),
            ("exposure", "Share of the most frequent sensitive value that lies in classes where it leads"),
        ):
            if asking.shape.sensitive:
                parts.append(_numbers(asking, name, caption, {}))
    return Section("risk", "Risk of re-identification", sentences, parts)


def _numbers(asking: Asking, name: str, caption: str, given: Mapping[str, object]) -> Part:
    try:
        return asking.table(caption, _HEAD, asking.function(name, _COLUMNS, given))
    except DbanonError as problem:
        if given:
            raise
        return Note(f"{caption}: this could not be told. {problem}")


def _brief(value: str) -> str:
    return shown(float(value)) or ""


# --- attacks -------------------------------------------------------------------------------------------------

_ATTACKS = {
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
"""Attacks that are tried, and what each does."""


_TELLING = "value <> 0 OR (value = 0 AND name IN ('guesses', 'observed'))"
"""Rows of attack_summary that say something."""


def attacks(asking: Asking) -> Section:
    """What each attack gains, by the source."""
    parts: list[Part] = []
    for kind, does in _ATTACKS.items():
        if kind == "minimality" and asking.entry.options.get("alpha") is None:
            continue
        if kind != "downcoding" and not asking.shape.sensitive:
            continue
        columns = ("attribute", "name", "value", "description")
        try:
            asked = asking.function("attack_summary", columns, {"kind": kind}, _TELLING)
        except DbanonError as problem:
            if kind != "similarity":  # it takes a hierarchy of sensitive values, which few have
                parts.append(Note(f"{kind.capitalize()}: this could not be tried. {problem}"))
            continue
        rows = asking.rows(asked)
        parts.append(Note(f"{does} {_result(rows)}", kind.capitalize()))
        parts.append(Table(f"The numbers of {kind}", ("column", "number", "value", "what it is"), rows, asked.shown))
    said = [
        "These attackers read the release and know whom they look for. The source says how often they are right. "
        "Prediction (a model learns from the release) and linkage (a table of known people) are not tried here: "
        "attack_summary does both."
    ]
    return Section("attacks", "Attacks", said, parts)


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


# --- answers -------------------------------------------------------------------------------------------------


def query_error(asking: Asking) -> Section:
    """How wrong random counts and averages on the release are."""
    columns = ("kind", "predicates", "queries", "median", "p95", "mean")
    said = [
        "Random counts and averages were asked of the release and of its source. The relative error is the difference "
        "over the true answer: half of the answers are no worse than the median, 95 of 100 no worse than p95."
    ]
    try:
        asked = asking.function("query_error", columns, {})
    except DbanonError as problem:
        return Section("queries", "Error of queries", said, [Note(f"This could not be told. {problem}")])
    rows = asking.rows(asked)
    lines = [(f"{row[0]}, {row[1]}", row[3], row[4]) for row in rows if row[3] is not None and row[4] is not None]
    parts: list[Part] = [Table("Relative error by number of predicates", columns, rows, asked.shown)]
    if lines:
        drawn = inline.ranges(lines, "relative error, median and p95")
        parts.insert(0, Plot(drawn, "Relative error of queries with 1 and more predicates.", [asked.shown]))
    return Section("queries", "Error of queries", said, parts)
