"""What a release leaves at risk: re-identification and disclosure; and how wrong answers on it are."""

from collections.abc import Mapping, Sequence

from dbanon.errors import DbanonError
from dbanon.publishing.certificate import Line
from dbanon.publishing.report import svg
from dbanon.publishing.report.blocks import Facts, Note, Part, Plot, Section, Table, shown
from dbanon.publishing.report.queries import Asking

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
        drawn = svg.ranges(lines, "relative error, median and p95")
        parts.insert(0, Plot(drawn, "Relative error of queries with 1 and more predicates.", [asked.shown]))
    return Section("queries", "Error of queries", said, parts)
