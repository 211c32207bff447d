"""The measures of a release: one SQL file each in sql/release/metric/, whose header says what it is."""

import re
from dataclasses import dataclass
from functools import cache

from dbanon.privacy_models import registry
from dbanon.sqltext import resources

_MODEL_PLACE = 41
"""The place of the measures of the privacy models."""

_HEADER = re.compile(r"^-- (what|better|source|place|needs|of|custodian): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Metric:
    """One measure: a SELECT of (detail, value) over the relations of sql/release/plan/metric_inputs.sql; `of` is what
    it can be measured of: classes, noise. Of those in `custodian` it does not follow from the released rows, but from
    values that nobody is shown: it never goes out with a release."""

    name: str
    description: str
    better: str
    source: str
    place: float
    needs: str
    applies_to: tuple[str, ...]
    custodian: tuple[str, ...]
    sql: str

    def describe(self, has_persons: bool) -> str:
        """What it is, of records or of persons."""
        unit = "distinct persons" if has_persons else "records (no person column: one person may have several)"
        return self.description.replace("{unit}", unit)


@cache
def all_metrics() -> tuple[Metric, ...]:
    """Return all measures in the order in which they are shown."""
    file_metrics = [_read_metric(name) for name in resources.sql_names("release/metrics")]
    return tuple(sorted([*file_metrics, *_model_metrics()], key=lambda m: m.place))


def _model_metrics() -> list[Metric]:
    """What is achieved by the privacy models, after k."""
    return [
        Metric(
            name=metric.name,
            description=metric.description,
            better=form.bound.better,
            source=model.source,
            place=_MODEL_PLACE + number / 100,
            needs=model.parameter,
            applies_to=("classes", "noise"),
            custodian=(),
            sql=resources.sql("privacy_models/achieved_value.sql"),
        )
        for number, (model, form, metric) in enumerate(registry.metrics())
    ]


def is_published(name: str) -> bool:
    """Whether a measure of a release of classes, by its name with what stands behind the colon, goes out with it."""
    base = name.partition(":")[0]
    return not any(m.name == base and "classes" in m.custodian for m in all_metrics())


def _read_metric(name: str) -> Metric:
    text = resources.sql(f"release/metrics/{name}.sql")
    header = dict(_HEADER.findall(text))
    return Metric(
        name=name,
        description=header["what"],
        better=header["better"],
        source=header["source"],
        place=int(header["place"]),
        needs=header.get("needs", ""),
        applies_to=tuple(header.get("of", "classes").split(", ")),
        custodian=tuple(header["custodian"].split(", ")) if "custodian" in header else (),
        sql=_HEADER.sub("", text).lstrip(),
    )
