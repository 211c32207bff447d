"""DataFrames of Spark."""

from collections.abc import Iterable

from dbanon.errors.base import DbanonError, RefusedError, UsageError, listed
from dbanon.errors.example import Situation

_ON = "It comes from `dbanon.spark.anonymize` and from statements of a session of Spark, "


class InvalidPolicyFileError(DbanonError):
    """What was given as the policy of a DataFrame is none."""

    message = (
        "{function}: policy is {got}. Accepted: roles by column ({{'age': 'quasi'}}), a TOML or CSV file of them, "
        "a DataFrame with the columns of dbanon.policy (column_name and role at least), or a DuckDB database that "
        "has a policy for a table of the name that `name` says."
    )
    example = Situation(
        _ON + "where `policy` names no file, or a file or a DataFrame that is no policy.",
        ("anonymize", "'policy.ini', which is no file"),
    )


class PolicyNameMissingError(UsageError):
    """A policy that names tables is given for a DataFrame, and the call does not say which table that is."""

    message = (
        "{function}: {policy} declares tables by name, and the call names none. Hint: name = 'patients' says "
        "from which table the rows of the DataFrame are."
    )
    example = Situation(
        "It comes from `dbanon.spark.anonymize(df, policy='clinic.duckdb')` without `name`.",
        ("anonymize", "clinic.duckdb"),
    )


class TableNotInPolicyError(RefusedError):
    """A policy is given that does not name the table."""

    example = Situation(
        _ON + "for `name='visits'`, or a view of the session, where the policy declares `patients` alone.",
        ("anonymize", "visits", "clinic.duckdb", [("main", "patients")]),
    )

    def __init__(self, function: str, table: str, policy: str, known: Iterable[tuple[str, str]]) -> None:
        shown = [name if place == "main" else f"{place}.{name}" for place, name in dict.fromkeys(known)]
        has = f"It names {listed(shown)}." if shown else "It names no table."
        super().__init__(
            f"{function}: {policy} does not name the table {table}. {has} Hint: give the name that the policy has, "
            "declare the table there, or give roles by column as the policy of this table. A view or a DataFrame "
            "computed from a table needs a policy of its own."
        )


class HierarchyOfPolicyError(RefusedError):
    """A call gives a hierarchy in place of one that comes with the database of the policy."""

    message = (
        "{function}: the hierarchy {hierarchy} is part of the policy's database, and a call must not replace it. "
        "Accepted in hierarchies: names of columns of the DataFrame. Hint: change the hierarchy in the database, "
        "or give roles by column as the policy."
    )
    example = Situation(
        _ON + "for `hierarchies={'zip5': ...}` with a database as the policy, which has a hierarchy of that name.",
        ("anonymize", "zip5"),
    )


class ComputedColumnError(RefusedError):
    """A published column of a DataFrame is computed from another column of the table that the policy is about."""

    example = Situation(
        _ON + "for `df.withColumnRenamed('name', 'disease')` with the policy of the table that `df` is.",
        ("anonymize", "patients", "disease", ["name"]),
    )

    def __init__(self, function: str, table: str, column: str, sources: Iterable[str]) -> None:
        found = listed(sorted(sources))
        what = f"is computed from {found}" if found else "is not the column of that name which was read"
        super().__init__(
            f"{function}: the column '{column}' of the DataFrame {what}, but the policy of {table} is about the "
            "columns as the table has them. Hint: anonymize the DataFrame before columns are renamed or computed, or "
            "give roles by column as the policy of this DataFrame."
        )


class SparkSessionMissingError(DbanonError):
    """What was given is no DataFrame of Spark."""

    message = (
        "{function}: {got} is no DataFrame of Spark, as SparkSession makes them. Hint: dbanon.anonymize takes "
        "DataFrames of pandas, polars and Arrow; those of Spark Connect have no way to the processes of Spark."
    )
    example = Situation(
        "It comes from `dbanon.spark.anonymize(df)` where `df` is a DataFrame of pandas, or of Spark Connect.",
        ("anonymize", "a pandas.core.frame.DataFrame"),
    )


class ExecutorModuleMissingError(DbanonError):
    """The processes of Spark run a Python that lacks a module."""

    message = (
        "{function}: the Python of Spark's processes has no module '{module}'. Hint: install dbanon there, or set "
        "PYSPARK_PYTHON to the Python that has it before the session is made."
    )
    example = Situation(
        _ON + "where the processes of a cluster run another Python than the one that dbanon is installed for.",
        ("kacpc", "pyarrow"),
    )


class ColumnsDifferOnlyByCaseError(DbanonError):
    """Columns of a DataFrame that differ by case at most."""

    message = (
        "{function}: the DataFrame has several columns '{name}', upper and lower case alike. Hint: rename them, "
        "or select those that are wanted."
    )
    example = Situation(
        _ON + "for a DataFrame with the columns `zip` and `ZIP`, which DuckDB cannot tell apart.", ("anonymize", "zip")
    )


class NeedsSinglePartitionError(DbanonError):
    """What a call asks of a table can only be done where it is clustered as one."""

    message = (
        "{function}: {what} needs the whole table at once, but it has {tuples} different combinations of "
        "quasi-identifiers, and a part has {cell} at most. Hint: cell = {tuples} clusters them as one, in the "
        "memory of one process; or do without."
    )
    example = Situation(
        _ON + "where a table is too large to be clustered as one, and the call asks for what needs that.",
        ("kacpc", "multi = 'joint'", 80_000, 50_000),
    )


class NotSupportedOnSparkError(DbanonError):
    """What a call asks for is not made from DataFrames of Spark."""

    message = "{function}: {what} is not made from DataFrames of Spark. Hint: in DuckDB it is."
    example = Situation(
        _ON + "for releases of noise, and for `improve='5s'`, which two machines would not end alike.",
        ("rka", "release = 'noise'"),
    )


class PartitionFailedError(DbanonError):
    """What a process of Spark that anonymized or judged a part was told by DuckDB."""

    example = Situation(
        _ON + "where a process finds what the table function would say of its rows: here `k=5000`.",
        ("kacpc: k must be between 2 and 400 (data has 400 rows), got 5000. Hint: lower k.",),
    )

    def __init__(self, said: str) -> None:
        super().__init__(said if said.endswith((".", "?")) else f"{said}.")
