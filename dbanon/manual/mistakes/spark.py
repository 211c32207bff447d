"""Mistakes with DataFrames of Spark, which no example can make where Spark is not installed."""

from __future__ import annotations

from dbanon import errors
from dbanon.manual.mistakes.mistake import Mistake

_ON = "It comes from `dbanon.spark.anonymize` and from statements of a session of Spark, "

MISTAKES: tuple[Mistake, ...] = (
    Mistake(
        errors.ComputedColumnError("anonymize", "patients", "disease", ["name"]),
        when=_ON + "for `df.withColumnRenamed('name', 'disease')` with the policy of the table that `df` is.",
    ),
    Mistake(
        errors.HierarchyOfPolicyError("anonymize", "zip5"),
        when=_ON + "for `hierarchies={'zip5': ...}` with a database as the policy, which has a hierarchy of that name.",
    ),
    Mistake(
        errors.InAPart("kacpc: k must be between 2 and 400 (data has 400 rows), got 5000. Hint: lower k."),
        when=_ON + "where a process finds what the table function would say of its rows: here `k=5000`.",
    ),
    Mistake(
        errors.NoModuleThere("kacpc", "pyarrow"),
        when=_ON + "where the processes of a cluster run another Python than the one that dbanon is installed for.",
    ),
    Mistake(
        errors.NotInParts("kacpc", "multi = 'joint'", 80_000, 50_000),
        when=_ON + "where a table is too large to be clustered as one, and the call asks for what needs that.",
    ),
    Mistake(
        errors.NotOnSpark("rka", "release = 'noise'"),
        when=_ON + "for releases of noise, and for `improve='5s'`, which two machines would not end alike.",
    ),
    Mistake(
        errors.NotPolicy("anonymize", "'policy.ini', which is no file"),
        when=_ON + "where `policy` names no file, or a file or a DataFrame that is no policy.",
    ),
    Mistake(
        errors.NotSpark("anonymize", "a pandas.core.frame.DataFrame"),
        when="It comes from `dbanon.spark.anonymize(df)` where `df` is a DataFrame of pandas, or of Spark Connect.",
    ),
    Mistake(
        errors.PolicyNameMissingError("anonymize", "clinic.duckdb"),
        when="It comes from `dbanon.spark.anonymize(df, policy='clinic.duckdb')` without `name`.",
    ),
    Mistake(
        errors.TableNotInPolicyError("anonymize", "visits", "clinic.duckdb", [("main", "patients")]),
        when=_ON + "for `name='visits'`, or a view of the session, where the policy declares `patients` alone.",
    ),
    Mistake(
        errors.TwoColumns("anonymize", "zip"),
        when=_ON + "for a DataFrame with the columns `zip` and `ZIP`, which DuckDB cannot tell apart.",
    ),
)
