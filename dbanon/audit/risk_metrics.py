"""List the metrics of risk: from which values each is computed, and which classes cause it."""

from collections.abc import Sequence

from dbanon.audit.audit_context import AuditContext
from dbanon.sqltext.quote import Sql, text


def metric_values(
    context: AuditContext,
    groups: Sequence[str],
    with_population: bool,
    with_fraction: bool,
    is_estimate: bool,
) -> list[dict[str, object]]:
    """Return template values of the metrics of a call, numbered in the order in which they are shown.

    In each, `of` is a relation of (class_id, value) in sql/audit/risk/risk_values.sql; `kind` is this relation and its
    sensitive column, if any, as a SQL string literal; `total` is the aggregate of its values, from which the template
    knows which classes cause it.

    Args:
        context: The resolved context of the call.
        groups: The groups of metrics: "reidentification", "uniqueness", "together", "disclosure", "exposure",
            "distortion" and "infeasible_classes".
        with_population: Whether a table of the population is given.
        with_fraction: Whether the share of the population that was released is given instead.
        is_estimate: Whether values are estimated from a sample of the classes.
    """
    has_population = with_population or with_fraction
    unit = "persons" if context.person is not None else "records"
    rows: list[tuple[str, str, str, int | None, str]] = []
    if "reidentification" in groups:
        rows += _attacker_metrics("prosecutor", f"who knows that a person is in the release: 1 / {unit} of the class")
        if has_population:
            rows += _attacker_metrics(
                "journalist", "who knows a person of the population: 1 / people of the population who fit the class"
            )
        others, relation = ("the population", "journalist") if has_population else ("the people in it", "prosecutor")
        rows += _attacker_metrics("marketer", f"who matches all records with {others} at random", relation=relation)
    if "uniqueness" in groups:
        rows.append(
            ("uniqueness_sample", "single", "average", None,
             f"Share of records in classes of one {unit.removesuffix('s')}.")
        )  # fmt: skip
        if with_population:
            rows.append(
                ("uniqueness_population", "unique", "average", None,
                 "Share of records that fit exactly one person of the population.")
            )  # fmt: skip
    if "together" in groups:
        rows.append(
            ("k_full_record", "full_record", "lowest", None,
             f"Least number of {unit} that are equal in everything published, including unchanged columns.")
        )  # fmt: skip
    for i, _ in enumerate(context.sensitive):
        rows += _sensitive_metrics(groups, i, is_estimate)
    if "distortion" in groups:
        rows.append(
            ("distortion", "distortion", "average", None, "Levels by which quasi-identifiers were raised, over their "
             "number of levels, weighted by influence; sum of the columns, average over records.")
        )  # fmt: skip
    if "infeasible_classes" in groups:
        rows.append(
            ("infeasible_classes", "infeasible", "sum", None,
             "Number of classes with a suppressed, an open or a wide value.")
        )  # fmt: skip
    return [
        {
            "number": number,
            "name": text(name),
            "of": relation,
            "kind": _kind(relation, context, i),
            "dominant_kind": _kind("dominant_share", context, i) if relation == "mean_share" else None,
            "total": text(aggregate),
            "i": i,
            "sensitive": Sql("NULL") if i is None else text(context.sensitive[i]),
            "description": text(description),
        }
        for number, (name, relation, aggregate, i, description) in enumerate(rows)
    ]


def _kind(relation: str, context: AuditContext, i: int | None) -> Sql:
    """Return a SQL string literal that names the values of `relation` for sensitive column `i`; None: for no column."""
    return text(relation if i is None else f"{relation}: {context.sensitive[i]}")


def _sensitive_metrics(groups: Sequence[str], i: int, is_estimate: bool) -> list[tuple[str, str, str, int | None, str]]:
    """Return the metrics of sensitive column `i` in the groups "disclosure" and "exposure".

    A metric is (name, relation, aggregate, `i`, description).

    `is_estimate` is whether values are estimated from a sample of the classes.
    """
    rows: list[tuple[str, str, str, int | None, str]] = []
    if "disclosure" in groups:
        rows += [
            ("disclosure_equation_13", "mean_share", "average", i,
             "Disclosure risk: mean over the values of a class of the chance to guess them; average over records."),
            ("disclosure_majority", "dominant_share", "average", i,
             "Disclosure risk: chance of the class's most frequent value; average over records."),
        ]  # fmt: skip
    if "exposure" in groups:
        estimated = ", estimated from a sample of the classes" if is_estimate else ""
        rows.append(
            ("exposure", "exposure", "sum", i, "Share of the records of the most frequent value that lie in classes "
             f"where it is the most frequent{estimated}.")
        )  # fmt: skip
    return rows


def _attacker_metrics(
    attacker: str, knowledge: str, relation: str | None = None
) -> list[tuple[str, str, str, int | None, str]]:
    """Return three metrics of an attacker: highest risk, average risk, and share of records above the threshold.

    A metric is (name, relation, aggregate, None, description). `knowledge` completes the
    description. `relation` is by default that of the attacker's name.
    """
    relation = relation or attacker
    description = f"risk from an attacker {knowledge}"
    return [
        (f"{attacker}_highest", relation, "highest", None, f"Highest {description}."),
        (f"{attacker}_average", relation, "average", None, f"Average {description}, over records."),
        (f"{attacker}_above", relation, "share_above", None, "Share of records whose "
         f"{description}, is above the threshold."),
    ]  # fmt: skip
