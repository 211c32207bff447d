"""Mistakes about what values are generalized by, and about published values."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import FEW, SHAPES, Mistake, sql

MISTAKES: tuple[Mistake, ...] = (
    sql(
        errors.UnknownHierarchy("kacpc", "zip55", "of few.zip", ["zip5"]),
        "FROM kacpc('few', k = 10, qi = ['zip'], hierarchies = {'zip': 'zip55'});",
        FEW,
    ),
    sql(
        errors.MalformedHierarchy(
            "given as text", "it has 2 roots; the last field of every row must be the same, usually *.", stored=False
        ),
        "FROM kacpc('few', k = 10, qi = ['sex'], hierarchies = {'sex': E'F;f\\nM;m'});",
        FEW,
    ),
    sql(
        errors.Uncovered("few", "sex", 2, "us_state", "us_state"),
        "FROM kacpc('few', k = 10, qi = ['sex'], hierarchies = {'sex': 'us_state'});",
        FEW,
    ),
    sql(
        errors.ReservedValue("shapes", "star", 1),
        "FROM kacpc('shapes', k = 10, qi = ['star']);",
        SHAPES,
    ),
    sql(
        errors.AmbiguousValue("wards", "ward", 1),
        "FROM kacpc('wards', k = 2, qi = ['ward'], escape = true, "
        "hierarchies = {'ward': E'3A;other;north;*\\n3B;other;south;*'});",
        "CREATE TABLE wards AS SELECT IF(i = 1, 'other', '3A') AS ward FROM range(9) AS r (i);",
    ),
)
