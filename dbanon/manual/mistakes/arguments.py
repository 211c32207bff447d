"""Mistakes in what is given to a function."""

from __future__ import annotations

from dbanon import errors
from dbanon.cluster import algorithms
from dbanon.manual.mistakes.mistake import Mistake, sql

_INT2 = "an integer of at least 2"

MISTAKES: tuple[Mistake, ...] = (
    sql(errors.InvalidArgument("kacpc", "k", _INT2, "1"), "FROM kacpc('patients', k = 1);"),
    sql(errors.MissingArgument("kacpc", "k", _INT2, "k = 10"), "FROM kacpc('patients');"),
    sql(
        errors.UnknownParameter("k_anonymity", "persn", ("qi", "person")),
        "FROM k_anonymity('patients', persn = 'patient_number');",
    ),
    sql(errors.UnreadableArgument("kacpc", "10"), "FROM kacpc('patients', 10);"),
    sql(
        errors.RepeatedArgument("CREATE MATERIALIZED ANONYMIZED VIEW", "composition"),
        "CREATE MATERIALIZED ANONYMIZED VIEW safe WITH (composition = 'warn', composition = 'refuse')\n"
        "AS SELECT * FROM kacpc('patients', k = 10);",
    ),
    sql(
        errors.UnknownAlgorithm("mondrain", [a.name for a in algorithms()]),
        "FROM inference('patients', k = 10, algorithm = 'mondrain');",
    ),
)
