"""Read the metrics of releases: one SQL file per metric in sql/release/metrics/, with a header that describes it."""

import re
from dataclasses import dataclass
from functools import cache

from dbanon.errors import renamed_names
from dbanon.privacy_models import registry
from dbanon.sqltext import resources

_MODEL_ORDER = 41
"""The position of the metrics of privacy models in the order of metrics."""

LEAF_METRICS = ("ncp", "gcp")
"""Metrics that count leaves of hierarchies; with `leaves = 'used'` they depend on values that are not published."""

_HEADER = re.compile(
    r"^-- (description|better|source|order|requires|applies_to|custodian|value|per|optional): (.*)$", re.MULTILINE
)


@dataclass(frozen=True)
class Metric:
    """One metric: SQL of its value over the relations of a release, either one value or a row per detail.

    Attributes:
        name: Its name.
        description: What it measures; `{unit}` is a placeholder for records or persons.
        better: 'higher' or 'lower'.
        source: The paper or standard that defines it.
        order: Its position in the order of metrics.
        requires: What the release must have: person, sensitive, number, unchanged, link, divergence, missing, levels,
            or the parameter of a privacy model such as l; empty: nothing.
        applies_to: The kinds of release that it measures: classes, noise.
        custodian: The kinds of release for which it depends on unpublished values, so that it is never published.
        value: SQL of the value, from the row `totals` of sql/release/plan/metric_totals.sql, or from the rows
            `column_totals` of sql/release/plan/dispersion.sql (see `per`); empty if `sql` is given.
        sql: A SELECT of (metric, detail, value) over any relation of the statement; empty if `value` is given.
        per: 'column' if there is one value per quasi-identifier, 'number' per quasi-identifier of numbers; empty if
            `value` is of the whole release.
        is_optional: `sql` may return no row, and there is no metric then.
    """

    name: str
    description: str
    better: str
    source: str
    order: float
    requires: str
    applies_to: tuple[str, ...]
    custodian: tuple[str, ...]
    value: str
    sql: str
    per: str = ""
    is_optional: bool = False

    def describe(self, has_persons: bool) -> str:
        """Return the metric's description with its unit: distinct persons if `has_persons`, else records."""
        unit = "distinct persons" if has_persons else "records (no person column: one person may have several)"
        return self.description.replace("{unit}", unit)


@cache
def all_metrics() -> tuple[Metric, ...]:
    """Return all metrics of releases, from SQL files and of privacy models, in the order in which they are shown."""
    file_metrics = [_read_metric(name) for name in resources.sql_names("release/metrics")]
    return tuple(sorted([*file_metrics, *_model_metrics()], key=lambda m: m.order))


def _model_metrics() -> list[Metric]:
    """Return one metric for each value that privacy models other than k achieve, such as the l of l-diversity."""
    return [
        Metric(
            name=metric.name,
            description=metric.description,
            better=form.bound.better,
            source=model.source,
            order=_MODEL_ORDER + number / 100,
            requires=model.parameter,
            applies_to=("classes", "noise"),
            custodian=(),
            value="",
            sql=resources.sql("privacy_models/achieved_value.sql"),
        )
        for number, (model, form, metric) in enumerate(registry.metrics())
    ]


def is_published(name: str, leaves: object) -> bool:
    """Return whether a metric of a release of classes (without noise) follows from published values.

    False for metrics that are for the custodian only; True for an unknown name.

    Args:
        name: The metric, also by an earlier name or with a detail after a colon.
        leaves: The parameter `leaves` of the release.
    """
    base = renamed_names.current_metric(name).partition(":")[0]
    if base in LEAF_METRICS and leaves == "used":
        return False
    return not any(m.name == base and "classes" in m.custodian for m in all_metrics())


def _read_metric(name: str) -> Metric:
    """Read the metric of a file sql/release/metrics/NAME.sql: its header gives the fields, the rest is a SELECT."""
    text = resources.sql(f"release/metrics/{name}.sql")
    header = dict(_HEADER.findall(text))
    return Metric(
        name=name,
        description=header["description"],
        better=header["better"],
        source=header["source"],
        order=int(header["order"]),
        requires=header.get("requires", ""),
        applies_to=tuple(header.get("applies_to", "classes").split(", ")),
        custodian=tuple(header["custodian"].split(", ")) if "custodian" in header else (),
        value=header.get("value", ""),
        sql=_HEADER.sub("", text).strip(),
        per=header.get("per", ""),
        is_optional="optional" in header,
    )
