"""Errors about DataFrames of Spark."""

from collections.abc import Iterable

from dbanon.errors.base import DbanonError, RefusedError, UsageError, format_names
from dbanon.errors.example import Situation

_ON = "It is raised by `dbanon.spark.anonymize` and by statements of a Spark session "


class InvalidPolicyFileError(DbanonError):
    """An invalid policy for a DataFrame."""

    message = (
        "{function}: policy is {got}. Accepted: roles by column ({{'age': 'quasi'}}), a TOML or CSV file of them, a "
        "DataFrame with the columns of dbanon.policy (column_name and role at least), or a DuckDB database that has a "
        "policy for the table named by `name`."
    )
    example = Situation(
        _ON + "if `policy` is not a file, or a file or DataFrame that does not contain a policy.",
        ("anonymize", "'policy.ini', which is not a file"),
    )


class PolicyNameMissingError(UsageError):
    """A policy with named tables, in a call that does not name the table of the DataFrame."""

    message = (
        "{function}: {policy} declares tables by name, and the call names none. Hint: name = 'patients' states the "
        "table of which the DataFrame contains rows."
    )
    example = Situation(
        "It is raised by `dbanon.spark.anonymize(df, policy='clinic.duckdb')` without `name`.",
        ("anonymize", "clinic.duckdb"),
    )


class TableNotInPolicyError(RefusedError):
    """A policy that does not contain the table."""

    example = Situation(
        _ON + "for `name='visits'`, or a view of the session, if the policy declares only `patients`.",
        ("anonymize", "visits", "clinic.duckdb", [("main", "patients")]),
    )

    def __init__(self, function: str, table: str, policy: str, policy_tables: Iterable[tuple[str, str]]) -> None:
        """Build the message; `policy_tables` are the (schema, table) pairs of the policy, possibly repeated."""
        names = [name if schema == "main" else f"{schema}.{name}" for schema, name in dict.fromkeys(policy_tables)]
        names_text = f"It names {format_names(names)}." if names else "It names no table."
        super().__init__(
            f"{function}: {policy} does not name the table {table}. {names_text} Hint: use the name that the policy "
            "has, declare the table there, or pass roles by column as the policy of this table. A view or a DataFrame "
            "computed from a table needs its own policy."
        )


class HierarchyOfPolicyError(RefusedError):
    """A hierarchy in the call that would replace one of the policy's database."""

    message = (
        "{function}: the hierarchy {hierarchy} is part of the policy's database, and a call must not replace it. "
        "Accepted in hierarchies: names of columns of the DataFrame. Hint: change the hierarchy in the database, or "
        "pass roles by column as the policy."
    )
    example = Situation(
        _ON + "for `hierarchies={'zip5': ...}` if the policy is a database that has a hierarchy of that name.",
        ("anonymize", "zip5"),
    )


class ComputedColumnError(RefusedError):
    """A published column that is computed from another column of the policy's table."""

    example = Situation(
        _ON + "for `df.withColumnRenamed('name', 'disease')` with the policy of the table that `df` reads.",
        ("anonymize", "patients", "disease", ["name"]),
    )

    def __init__(self, function: str, table: str, column: str, sources: Iterable[str]) -> None:
        """Build the message.

        `sources` are the other columns from which the published column is computed. If it is empty, the message says
        that the column is not the column of that name that was read.
        """
        source_names = format_names(sorted(sources))
        reason = f"is computed from {source_names}" if source_names else "is not the column of that name that was read"
        super().__init__(
            f"{function}: the column '{column}' of the DataFrame {reason}, but the policy of {table} applies to the "
            "columns of the table itself. Hint: anonymize the DataFrame before you rename or compute columns, or pass "
            "roles by column as the policy of this DataFrame."
        )


class SparkSessionMissingError(DbanonError):
    """Data that are not a DataFrame of Spark."""

    message = (
        "{function}: {got} is not a DataFrame of a SparkSession. Hint: dbanon.anonymize accepts DataFrames of pandas, "
        "polars and Arrow; DataFrames of Spark Connect cannot run code in the processes of Spark."
    )
    example = Situation(
        "It is raised by `dbanon.spark.anonymize(df)` if `df` is a DataFrame of pandas or of Spark Connect.",
        ("anonymize", "a pandas.core.frame.DataFrame"),
    )


class ExecutorModuleMissingError(DbanonError):
    """A module that is missing in the Python of Spark's executors."""

    message = (
        "{function}: the Python of Spark's processes has no module '{module}'. Hint: install dbanon there, or set "
        "PYSPARK_PYTHON to the Python that has it before you create the session."
    )
    example = Situation(
        _ON + "if the processes of a cluster run a Python in which dbanon is not installed.",
        ("kacpc", "pyarrow"),
    )


class ColumnsDifferOnlyByCaseError(DbanonError):
    """Columns of a DataFrame whose names differ only by case."""

    message = (
        "{function}: the DataFrame has several columns '{name}' (upper and lower case are equal). Hint: rename them, "
        "or select the ones you need."
    )
    example = Situation(
        _ON + "for a DataFrame with the columns `zip` and `ZIP`, which DuckDB cannot distinguish.", ("anonymize", "zip")
    )


class NeedsSinglePartitionError(DbanonError):
    """A feature that needs the whole table in one partition."""

    message = (
        "{function}: {what} needs the whole table at once, but it has {tuples} different combinations of "
        "quasi-identifiers, and a part has at most {cell}. Hint: max_partition = {tuples} clusters them as one part, "
        "in the memory of one process; or call without {what}."
    )
    example = Situation(
        _ON + "if a table is too large to be clustered as one part and the call has a parameter that needs that.",
        ("kacpc", "multi_sensitive = 'joint'", 80_000, 50_000),
    )


class NotSupportedOnSparkError(DbanonError):
    """A feature that is not available for DataFrames of Spark."""

    message = "{function}: {what} is not available for DataFrames of Spark. Hint: run the call in DuckDB."
    example = Situation(
        _ON + "for releases with noise, and for `improve='5s'`, whose result would differ between two machines.",
        ("rka", "release = 'noise'"),
    )


class PartitionFailedError(DbanonError):
    """An error of DuckDB in an executor that anonymized or checked a partition."""

    example = Situation(
        _ON + "if a process finds an error of the table function in its rows, here `k=5000`.",
        ("kacpc: k must be between 2 and 400 (data has 400 rows), got 5000. Hint: lower k.",),
    )

    def __init__(self, error_text: str) -> None:
        """Use the text of DuckDB's error as the message, with a period at the end."""
        super().__init__(error_text if error_text.endswith((".", "?")) else f"{error_text}.")
