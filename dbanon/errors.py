"""Every mistake a user can make, one exception each; its message is built here and nowhere else.

A message says what was given, what is accepted and what to do. It quotes names and counts, never a cell of
the source. Arguments that are only known while a query runs may be `Later` values: the message then becomes
a SQL expression (see `dbanon.plan`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from dbanon.quote import text


def near(name: str, known: Iterable[str]) -> str:
    """` Did you mean 'x'?` for the closest known name, or nothing."""
    by_lower = {k.lower(): k for k in known}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f" Did you mean '{by_lower[close[0]]}'?" if close else ""


def listed(names: Iterable[object]) -> str:
    """`'a', 'b'` for messages; long lists are cut."""
    items = [repr(str(n)) for n in names]
    return ", ".join(items[:12]) + (f", ... ({len(items)} in all)" if len(items) > 12 else "")


class DbanonError(Exception):
    """Base of all errors of this package. Nothing was released and nothing was changed."""


# --- arguments -----------------------------------------------------------------------------------------


class InvalidArgument(DbanonError):
    """A parameter's value is outside what it accepts."""

    def __init__(self, function: str, name: str, accepts: str, got: object) -> None:
        super().__init__(f"{function}: {name} must be {accepts}, got {got}.")


class MissingArgument(DbanonError):
    """A required parameter was not given (or given as NULL)."""

    def __init__(self, function: str, name: str, accepts: str, example: str) -> None:
        super().__init__(f"{function}: {name} is missing; it must be {accepts}. Hint: {example}.")


class UnknownParameter(DbanonError):
    """A parameter name that the function does not have."""

    def __init__(self, function: str, name: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(
            f"{function}: there is no parameter '{name}'.{near(name, known)} Accepted: {', '.join(known)}."
        )


class UnreadableArgument(DbanonError):
    """A positional argument that is not `name = literal`."""

    def __init__(self, function: str, text: str) -> None:
        super().__init__(
            f"{function}: cannot read the argument {text}. Hint: arguments after the table name are "
            "name = literal, such as k = 10 or qi = ['age', 'zip']."
        )


class RepeatedArgument(DbanonError):
    """The same parameter twice."""

    def __init__(self, function: str, name: str) -> None:
        super().__init__(f"{function}: {name} is given twice. Hint: give it once.")


class UnknownAlgorithm(DbanonError):
    """An algorithm that is not registered."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(f"there is no algorithm '{name}'.{near(name, known)} Registered: {', '.join(known)}.")


# --- sources -------------------------------------------------------------------------------------------


class NotATable(DbanonError):
    """The source argument is not the name of a table, view or file."""

    def __init__(self, function: str, text: str) -> None:
        super().__init__(
            f"{function}: {text!r} is not the name of a table, a view or a file. Hint: give a name such as "
            "'patients', 'clinic.main.patients', '\"odd name\"' or 'patients.parquet'; to use the result of a "
            "query, CREATE VIEW it first."
        )


class UnknownTable(DbanonError):
    """No such table, view or file that the planner can see."""

    def __init__(self, function: str, text: str, known: Iterable[str]) -> None:
        super().__init__(
            f"{function}: no table, view or file '{text}' is visible.{near(text, known)} Hint: temporary tables, "
            "registered DataFrames and tables created in an open transaction are not visible on a connection "
            "that was only attached; commit, or CREATE TABLE ... AS FROM it, or use dbanon.connect or "
            "dbanon.anonymize."
        )


class AmbiguousTable(DbanonError):
    """Two tables answer to the name."""

    def __init__(self, function: str, text: str, found: Iterable[str]) -> None:
        super().__init__(
            f"{function}: '{text}' can be {' or '.join(found)}. Hint: write the whole name, database.schema.table."
        )


class ShadowedTable(DbanonError):
    """A temporary object of the same name stands before the table that was resolved."""

    def __init__(self, function: str, text: str, resolved: str) -> None:
        super().__init__(
            f"{function}: '{text}' also names a temporary table or view of this connection, which the planner "
            f"cannot see. Hint: write '{resolved}' for the stored table, or CREATE TABLE ... AS FROM the "
            "temporary one."
        )


class UnreadableFile(DbanonError):
    """DuckDB cannot read the file named as source."""

    def __init__(self, function: str, path: str, why: str) -> None:
        super().__init__(f"{function}: cannot read the file '{path}': {why}")


class ReadOnly(DbanonError):
    """The policy and the hierarchies of a read-only database cannot be written."""

    def __init__(self, function: str, database: str) -> None:
        super().__init__(
            f"{function}: the database {database} is read-only and has no schema dbanon. Hint: give roles and "
            "hierarchies in the call, qi = [...], hierarchies = {...}; or attach a database in memory for hierarchies."
        )


class EmptySource(DbanonError):
    """A table without rows has no classes."""

    def __init__(self, function: str, table: str) -> None:
        super().__init__(f"{function}: {table} has no rows. Hint: there is nothing to anonymize yet.")


class NothingLeft(DbanonError):
    """nulls := 'drop' leaves no row."""

    def __init__(self, function: str, table: str) -> None:
        super().__init__(
            f"{function}: every row of {table} has a NULL in a quasi-identifier and nulls := 'drop' leaves none. "
            "Hint: use nulls := 'keep' or withhold the columns that are mostly NULL."
        )


# --- roles ---------------------------------------------------------------------------------------------


class UnknownColumn(DbanonError):
    """A column that the table does not have."""

    def __init__(self, function: str, table: str, column: str, where: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(
            f"{function}: {table} has no column '{column}' (named in {where}).{near(column, known)} "
            f"Columns: {listed(known)}."
        )


class UnknownRole(DbanonError):
    """A role in dbanon.policy that does not exist."""

    def __init__(self, table: str, column: str, role: str, known: Iterable[str]) -> None:
        known = list(known)
        super().__init__(
            f"{table}.{column}: there is no role '{role}'.{near(role, known)} Accepted: {', '.join(known)}."
        )


class TwoRoles(DbanonError):
    """One column in two roles of one call or of the policy."""

    def __init__(self, function: str, table: str, column: str, roles: Iterable[str]) -> None:
        super().__init__(
            f"{function}: {table}.{column} is in two roles: {' and '.join(roles)}. Hint: give each column one role."
        )


class LoosensPolicy(DbanonError):
    """A call asks for less protection than the policy declares."""

    def __init__(self, function: str, table: str, column: str, declared: str, asked: str) -> None:
        super().__init__(
            f"{function}: {table}.{column} is declared {declared} in dbanon.policy and the call asks for {asked}, "
            "which would loosen the policy. Hint: a call may only tighten it; UPDATE dbanon.policy to change it."
        )


class NoPolicy(DbanonError):
    """Neither the policy nor the call names a quasi-identifier."""

    def __init__(self, function: str, table: str, columns: Iterable[str]) -> None:
        first = next(iter(columns), "age")
        super().__init__(
            f"{function}: no quasi-identifier is declared for {table}. Hint: declare its policy, "
            "INSERT INTO dbanon.policy (table_name, column_name, role) VALUES "
            f"('{table}', '{first}', 'quasi'), ...; or name the columns in the call, qi = ['{first}', ...]."
        )


class UnsupportedType(DbanonError):
    """A column type that cannot be generalized."""

    def __init__(self, function: str, table: str, column: str, type_: str) -> None:
        super().__init__(
            f"{function}: {table}.{column} has the type {type_}, which cannot be a quasi-identifier. Hint: "
            "numbers, dates, times, text, booleans, enums and UUIDs can; extract such a column in a view, or "
            "withhold it."
        )


class UnsupportedPerson(DbanonError):
    """A column type whose values cannot tell people apart reliably."""

    def __init__(self, function: str, table: str, column: str, type_: str) -> None:
        super().__init__(
            f"{function}: {table}.{column} has the type {type_}, which cannot tell people apart. Hint: use a column "
            "of numbers, dates, times, text, booleans, enums or UUIDs, or make one in a view."
        )


class RepeatedIdentifier(DbanonError):
    """An identifier that may be the key of people who occur more than once; policy_problems reports it."""

    def __init__(self, table: str, column: str, count: object, tells_people_apart: bool) -> None:
        declare = (
            "run the statement beside this"
            if tells_people_apart
            else "make a column of text of it in a view and declare that one as person"
        )
        super().__init__(
            f"{table}.{column}: {count} values of this identifier occur in more than one row, and no column has the "
            "role person, so k counts records. Hint: names repeat by chance; where a value is always one and the same "
            f"person, {declare}."
        )


class UnsupportedSetting(DbanonError):
    """A generalization setting that does not fit the column."""

    def __init__(self, function: str, table: str, column: str, setting: str, why: str) -> None:
        super().__init__(f"{function}: {setting} does not fit {table}.{column}: {why}")


class RareOther(DbanonError):
    """An `other` column would single people out."""

    def __init__(self, function: str, table: str, column: str, count: object, k: int) -> None:
        super().__init__(
            f"{function}: {table}.{column} has the role other (published unchanged) and {count} of its values "
            f"belong to fewer than k = {k} records (persons). Hint: make it quasi, withhold it, or accept it "
            f"with allow_rare = ['{column}']."
        )


class RareLeft(DbanonError):
    """A published value of role other that few records have after outliers were left out."""

    def __init__(self, function: str, table: str, column: str, count: object, k: int) -> None:
        super().__init__(
            f"{function}: {table}.{column} would be published unchanged, and without the outliers {count} of its "
            f"values belong to fewer than k = {k} records (persons). Hint: lower suppress, withhold the column, or "
            f"accept it with allow_rare = ['{column}']."
        )


class PolicyChanged(DbanonError):
    """The policy differs between planning and execution."""

    def __init__(self, function: str, table: str) -> None:
        super().__init__(
            f"{function}: the policy of {table} changed after this statement was planned, or is changed in the "
            "open transaction. Hint: commit first, then run (or prepare) the statement again."
        )


# --- hierarchies ---------------------------------------------------------------------------------------


class UnknownHierarchy(DbanonError):
    """A hierarchy that is neither stored nor shipped."""

    def __init__(self, function: str, name: str, where: str, known: Iterable[str]) -> None:
        super().__init__(
            f"{function}: there is no hierarchy '{name}' ({where}).{near(name, known)} Hint: load it with "
            "INSERT INTO dbanon.hierarchy FROM hierarchy_file('name', 'file.csv'), or see FROM hierarchies()."
        )


class MalformedHierarchy(DbanonError):
    """A hierarchy that is not one tree."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(
            f"hierarchy '{name}' is not well-formed: {why} Hint: FROM hierarchy_problems() lists what is wrong."
        )


class Uncovered(DbanonError):
    """Values that the hierarchy does not know."""

    def __init__(self, table: str, column: str, count: object, hierarchy: str, asked: str | None) -> None:
        """`asked`: the hierarchy that the call named, where it is not the declared one."""
        call = [text(table), text(column), *([f"hierarchy := {text(asked)}"] if asked else [])]
        super().__init__(
            f"{table}.{column}: {count} distinct values are missing from hierarchy '{hierarchy}'. "
            f"Hint: FROM uncovered({', '.join(call)})."
        )


class ReservedValue(DbanonError):
    """Values that a reader could not tell from generalized ones."""

    def __init__(self, table: str, column: str, count: object) -> None:
        super().__init__(
            f"{table}.{column}: {count} distinct values are '*' or equal the label of an inner node, so a reader "
            f"could not tell them from generalized values. Hint: rename them, or pass escape = true to publish "
            "such values with a backslash before them."
        )


# --- data and feasibility ------------------------------------------------------------------------------


class KOutOfRange(DbanonError):
    """k cannot be met by the table."""

    def __init__(self, function: str, table: str, k: int, count: object, unit: str) -> None:
        super().__init__(
            f"{function}: k must be between 2 and {count} ({table} has {count} {unit}), got {k}. "
            "Hint: lower k or withhold fewer rows."
        )


class TooFew(DbanonError):
    """One record, or none that belongs to a known person: no k can be met."""

    def __init__(self, function: str, table: str, count: object, unit: str) -> None:
        super().__init__(
            f"{function}: {table} has {count} {unit} to publish, and nobody can hide in a group of one. "
            "Hint: there is no k that this table can meet."
        )


class TooSmallBlock(DbanonError):
    """max_level separates groups that cannot meet the privacy model."""

    def __init__(self, function: str, model: str, rows: object, columns: Iterable[str]) -> None:
        super().__init__(
            f"{function}: max_level of {', '.join(columns)} separates {rows} records into groups that cannot "
            f"meet {model}. Hint: raise max_level, or ask for less."
        )


class ModelNotMet(DbanonError):
    """The whole table, as one class, does not meet a privacy model: no grouping of it can be relied on to."""

    def __init__(self, function: str, model: str, column: str, best: str) -> None:
        super().__init__(
            f"{function}: all records together do not meet {model} on {column}; the most that they allow is {best}. "
            "Hint: ask for less, or withhold the column."
        )


class NoSensitive(DbanonError):
    """A model of sensitive values, and no sensitive column."""

    def __init__(self, function: str, table: str, parameter: str) -> None:
        super().__init__(
            f"{function}: {parameter} is about sensitive values, and no column of {table} is sensitive. "
            "Hint: name one with sensitive = ['disease'], or give it the role sensitive in dbanon.policy."
        )


class NoSensitiveHierarchy(DbanonError):
    """emd = 'hierarchical' for a column without a hierarchy."""

    def __init__(self, function: str, table: str, column: str) -> None:
        super().__init__(
            f"{function}: emd = 'hierarchical' needs a hierarchy of {table}.{column}. "
            f"Hint: hierarchies = {{'{column}': 'name'}}, or the column hierarchy of dbanon.policy."
        )


class UnusedArgument(DbanonError):
    """A parameter that would be ignored."""

    def __init__(self, function: str, parameter: str, why: str) -> None:
        super().__init__(f"{function}: {parameter} has no effect, because {why}. Hint: leave it out.")


class NoValues(DbanonError):
    """A quasi-identifier that is NULL in every row."""

    def __init__(self, function: str, table: str, column: str) -> None:
        super().__init__(
            f"{function}: {table}.{column} is NULL in every row. Hint: withhold the column or drop it from qi."
        )


class NullsRefused(DbanonError):
    """nulls := 'error' met a NULL."""

    def __init__(self, function: str, table: str, column: str, count: object) -> None:
        super().__init__(
            f"{function}: {table}.{column} is NULL in {count} rows and nulls = 'error' was asked for. "
            "Hint: use nulls = 'keep' or nulls = 'drop'."
        )


class NotFinite(DbanonError):
    """NaN or an infinity in a quasi-identifier."""

    def __init__(self, function: str, table: str, column: str, count: object) -> None:
        super().__init__(
            f"{function}: {table}.{column} is NaN or infinite in {count} rows, which have no place in an interval. "
            "Hint: turn them into NULL in a view, or filter them out."
        )


class Interrupted(DbanonError):
    """Ctrl-C or interrupt() while clustering."""

    def __init__(self, function: str) -> None:
        super().__init__(f"{function}: interrupted. Nothing was released.")


# --- the gate ------------------------------------------------------------------------------------------


class GateRefused(DbanonError):
    """The release gate found a released table that is not what it claims to be."""

    def __init__(self, function: str, what: str, count: object) -> None:
        super().__init__(
            f"{function}: the release gate refused the result: {what} ({count}). Nothing was released. "
            "This is a defect of the algorithm, please report it with the call."
        )
