"""The measures of a release: one SQL file each in sql/metric/, whose header says what it is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from dbanon import resources

_HEADER = re.compile(r"^-- (what|better|source|place|needs|of): (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Metric:
    """One measure: a SELECT of (detail, value) over the relations of sql/part/measured.sql; `of` is what it can be
    measured of: classes, noise."""

    name: str
    what: str
    better: str
    source: str
    place: int
    needs: str
    of: tuple[str, ...]
    sql: str


@cache
def all_metrics() -> tuple[Metric, ...]:
    """All measures in the order in which they are shown."""
    return tuple(sorted((_read(name) for name in resources.sql_names("metric")), key=lambda m: m.place))


def _read(name: str) -> Metric:
    text = resources.sql(f"metric/{name}.sql")
    header = dict(_HEADER.findall(text))
    return Metric(
        name=name,
        what=header["what"],
        better=header["better"],
        source=header["source"],
        place=int(header["place"]),
        needs=header.get("needs", ""),
        of=tuple(header.get("of", "classes").split(", ")),
        sql="\n".join(line for line in text.splitlines() if not line.startswith("-- ")),
    )
