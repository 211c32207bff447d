"""The numbers about risk: how each comes from the classes, and which classes drive it."""

from collections.abc import Sequence

from dbanon.audit.audit_context import Tables
from dbanon.sqltext.quote import Sql, text


def values(
    tables: Tables, groups: Sequence[str], population: bool, fraction: bool, threshold: float, sampled: bool
) -> list[dict[str, object]]:
    """Template values of the numbers of a call, in order.

    `of` is a relation of (class_id, value) in sql/audit/risk/risk_values.sql, `total` how the number comes from it,
    `drives` which classes drive it.
    """
    known = population or fraction
    unit = "persons" if tables.person is not None else "records"
    rows: list[tuple[str, str, str, str, int | None, str]] = []
    if "reidentification" in groups:
        rows += _reidentification("prosecutor", f"who knows that somebody is in the release: 1 / {unit} of the class")
        if known:
            whom = "people of the population who fit the class"
            rows += _reidentification("journalist", f"who knows somebody of the population: 1 / {whom}", threshold)
            rows += _reidentification("marketer", "who matches all records with the population at random", threshold)
        else:
            rows += _reidentification("marketer", "who matches all records with the people in it at random", threshold)
    if "uniqueness" in groups:
        said = f"Share of records in classes of one {unit.removesuffix('s')}."
        rows.append(("uniqueness_sample", "single", "average", "positive", None, said))
        if population:
            said = "Share of records that fit exactly one person of the population."
            rows.append(("uniqueness_population", "alone", "average", "positive", None, said))
    if "together" in groups:
        said = f"Least number of {unit} alike in everything that is published, unchanged columns too."
        rows.append(("k_all", "alike", "lowest", "at_lowest", None, said))
    for i, _ in enumerate(tables.sensitive):
        if "disclosure" in groups:
            said = "Disclosure risk: mean over the values of a class of the chance to guess them; average over records."
            rows.append(("disclosure_literal", "literal", "average", "above_average", i, said))
            said = "Disclosure risk: chance of the class's most frequent value; average over records."
            rows.append(("disclosure_dominant", "dominant", "average", "above_average", i, said))
        if "exposure" in groups:
            said = "Share of the records of the most frequent value that lie in classes where it is the most frequent"
            said += ", estimated from a sample of the classes." if sampled else "."
            rows.append(("exposure", "exposed", "sum", "positive", i, said))
    if "distortion" in groups:
        said = (
            "Levels that quasi-identifiers were raised over their number, weighted by influence; sum of the columns, "
        )
        rows.append(("distortion", "distortion", "average", "above_average", None, f"{said}average over records."))
    if "infeasible_classes" in groups:
        said = "Number of classes with a suppressed, an open or a wide value."
        rows.append(("infeasible_classes", "infeasible", "sum", "positive", None, said))
    return [
        {
            "number": number,
            "name": text(name),
            "of": of,
            "total": total,
            "drives": drives,
            "i": i,
            "sensitive": Sql("NULL") if i is None else text(tables.sensitive[i]),
            "what": text(what),
        }
        for number, (name, of, total, drives, i, what) in enumerate(rows)
    ]


def _reidentification(
    attacker: str, what: str, threshold: float = 0.0
) -> list[tuple[str, str, str, str, int | None, str]]:
    said = f"risk from an attacker {what}"
    return [
        (f"{attacker}_highest", attacker, "highest", "at_highest", None, f"Highest {said}."),
        (f"{attacker}_average", attacker, "average", "above_average", None, f"Average {said}, over records."),
        (f"{attacker}_above", attacker, "share_above", "above_threshold", None, "Share of records whose "
         f"{said}, is above the threshold."),
    ]  # fmt: skip
