"""List the metrics of risk: from which values each is computed, and which classes cause it."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from dbanon.audit.audit_context import AuditContext
from dbanon.sqltext.quote import Sql, text


class _Metric(NamedTuple):
    """A risk metric of a group, computed from `relation` by `aggregate`; `i` is its sensitive column, if any."""

    group: str
    name: str
    relation: str
    aggregate: str
    description: str
    i: int | None = None


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
    others, relation = ("the population", "journalist") if has_population else ("the people in it", "prosecutor")
    journalist = _attacker_metrics(
        "journalist", "who knows a person of the population: 1 / people of the population who fit the class"
    )
    metrics = [
        *_attacker_metrics("prosecutor", f"who knows that a person is in the release: 1 / {unit} of the class"),
        *(journalist if has_population else ()),
        *_attacker_metrics("marketer", f"who matches all records with {others} at random", relation=relation),
        _Metric(
            "uniqueness", "uniqueness_sample", "single", "average",
            f"Share of records in classes of one {unit.removesuffix('s')}.",
        ),
        *(
            [_Metric(
                "uniqueness", "uniqueness_population", "unique", "average",
                "Share of records that fit exactly one person of the population.",
            )]
            if with_population
            else ()
        ),
        _Metric(
            "together", "k_full_record", "full_record", "lowest",
            f"Least number of {unit} that are equal in everything published, including unchanged columns.",
        ),
        *(metric for i in range(len(context.sensitive)) for metric in _sensitive_metrics(i, is_estimate)),
        _Metric(
            "distortion", "distortion", "distortion", "average",
            "Levels by which quasi-identifiers were raised, over their number of levels, weighted by influence; sum of "
            "the columns, average over records.",
        ),
        _Metric(
            "infeasible_classes", "infeasible_classes", "infeasible", "sum",
            "Number of classes with a suppressed, an open or a wide value.",
        ),
    ]  # fmt: skip
    return [
        {
            "number": number,
            "name": text(metric.name),
            "of": metric.relation,
            "kind": _kind(metric.relation, context, metric.i),
            "dominant_kind": _kind("dominant_share", context, metric.i) if metric.relation == "mean_share" else None,
            "total": text(metric.aggregate),
            "i": metric.i,
            "sensitive": Sql("NULL") if metric.i is None else text(context.sensitive[metric.i]),
            "description": text(metric.description),
        }
        for number, metric in enumerate(metric for metric in metrics if metric.group in groups)
    ]


def _kind(relation: str, context: AuditContext, i: int | None) -> Sql:
    """Return a SQL string literal that names the values of `relation` for sensitive column `i`; None: for no column."""
    return text(relation if i is None else f"{relation}: {context.sensitive[i]}")


def _sensitive_metrics(i: int, is_estimate: bool) -> list[_Metric]:
    """Return the metrics of sensitive column `i`; `is_estimate`: they are estimated from a sample of the classes."""
    estimated = ", estimated from a sample of the classes" if is_estimate else ""
    return [
        _Metric(
            "disclosure", "disclosure_equation_13", "mean_share", "average",
            "Disclosure risk: mean over the values of a class of the chance to guess them; average over records.", i,
        ),
        _Metric(
            "disclosure", "disclosure_majority", "dominant_share", "average",
            "Disclosure risk: chance of the class's most frequent value; average over records.", i,
        ),
        _Metric(
            "exposure", "exposure", "exposure", "sum", "Share of the records of the most frequent value that lie in "
            f"classes where it is the most frequent{estimated}.", i,
        ),
    ]  # fmt: skip


def _attacker_metrics(attacker: str, knowledge: str, relation: str | None = None) -> list[_Metric]:
    """Return three metrics of an attacker: highest risk, average risk, and share of records above the threshold.

    `knowledge` completes the description. `relation` is by default that of the attacker's name.
    """
    description = f"risk from an attacker {knowledge}"
    new_metric = partial(_Metric, "reidentification", relation=relation or attacker)
    return [
        new_metric(f"{attacker}_highest", aggregate="highest", description=f"Highest {description}."),
        new_metric(f"{attacker}_average", aggregate="average", description=f"Average {description}, over records."),
        new_metric(
            f"{attacker}_above",
            aggregate="share_above",
            description=f"Share of records whose {description}, is above the threshold.",
        ),
    ]
