"""DataFrames of Spark."""

from __future__ import annotations

from collections.abc import Iterable

from dbanon.errors.base import DbanonError, listed


class NotPolicy(DbanonError):
    """What was given as the policy of a DataFrame is none."""

    def __init__(self, function: str, got: str) -> None:
        super().__init__(
            f"{function}: policy is {got}. Accepted: roles by column ({{'age': 'quasi'}}), a TOML or CSV file of them, "
            "a DataFrame with the columns of dbanon.policy (column_name and role at least), or a DuckDB database that "
            "has a policy for a table of the name that `name` says."
        )


class PolicyNameMissingError(DbanonError):
    """A policy that names tables is given for a DataFrame, and the call does not say which table that is."""

    outcome = "usage"

    def __init__(self, function: str, policy: str) -> None:
        super().__init__(
            f"{function}: {policy} declares tables by name, and the call names none. Hint: name = 'patients' says "
            "from which table the rows of the DataFrame are."
        )


class TableNotInPolicyError(DbanonError):
    """A policy is given that does not name the table."""

    outcome = "refused"

    def __init__(self, function: str, table: str, policy: str, known: Iterable[tuple[str, str]]) -> None:
        shown = [name if place == "main" else f"{place}.{name}" for place, name in dict.fromkeys(known)]
        has = f"It names {listed(shown)}." if shown else "It names no table."
        super().__init__(
            f"{function}: {policy} does not name the table {table}. {has} Hint: give the name that the policy has, "
            "declare the table there, or give roles by column as the policy of this table. A view or a DataFrame "
            "computed from a table needs a policy of its own."
        )


class HierarchyOfPolicyError(DbanonError):
    """A call gives a hierarchy in place of one that comes with the database of the policy."""

    outcome = "refused"

    def __init__(self, function: str, hierarchy: str) -> None:
        super().__init__(
            f"{function}: the hierarchy {hierarchy} is part of the policy's database, and a call must not replace it. "
            "Accepted in hierarchies: names of columns of the DataFrame. Hint: change the hierarchy in the database, "
            "or give roles by column as the policy."
        )


class ComputedColumnError(DbanonError):
    """A published column of a DataFrame is computed from another column of the table that the policy is about."""

    outcome = "refused"

    def __init__(self, function: str, table: str, column: str, sources: Iterable[str]) -> None:
        found = listed(sorted(sources))
        what = f"is computed from {found}" if found else "is not the column of that name which was read"
        super().__init__(
            f"{function}: the column '{column}' of the DataFrame {what}, but the policy of {table} is about the "
            "columns as the table has them. Hint: anonymize the DataFrame before columns are renamed or computed, or "
            "give roles by column as the policy of this DataFrame."
        )


class NotSpark(DbanonError):
    """What was given is no DataFrame of Spark."""

    def __init__(self, function: str, got: str) -> None:
        super().__init__(
            f"{function}: {got} is no DataFrame of Spark, as SparkSession makes them. Hint: dbanon.anonymize takes "
            "DataFrames of pandas, polars and Arrow; those of Spark Connect have no way to the processes of Spark."
        )


class NoModuleThere(DbanonError):
    """The processes of Spark run a Python that lacks a module."""

    def __init__(self, function: str, module: str) -> None:
        super().__init__(
            f"{function}: the Python of Spark's processes has no module '{module}'. Hint: install dbanon there, or set "
            "PYSPARK_PYTHON to the Python that has it before the session is made."
        )


class TwoColumns(DbanonError):
    """Columns of a DataFrame that differ by case at most."""

    def __init__(self, function: str, name: str) -> None:
        super().__init__(
            f"{function}: the DataFrame has several columns '{name}', upper and lower case alike. Hint: rename them, "
            "or select those that are wanted."
        )


class NotInParts(DbanonError):
    """What a call asks of a table can only be done where it is clustered as one."""

    def __init__(self, function: str, what: str, tuples: int, cell: int) -> None:
        super().__init__(
            f"{function}: {what} needs the whole table at once, but it has {tuples} different combinations of "
            f"quasi-identifiers, and a part has {cell} at most. Hint: cell = {tuples} clusters them as one, in the "
            "memory of one process; or do without."
        )


class NotOnSpark(DbanonError):
    """What a call asks for is not made from DataFrames of Spark."""

    def __init__(self, function: str, what: str) -> None:
        super().__init__(f"{function}: {what} is not made from DataFrames of Spark. Hint: in DuckDB it is.")


class InAPart(DbanonError):
    """What a process of Spark that anonymized or judged a part was told by DuckDB."""

    def __init__(self, said: str) -> None:
        super().__init__(said if said.endswith((".", "?")) else f"{said}.")
