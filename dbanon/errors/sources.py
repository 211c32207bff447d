"""Errors about sources that cannot be read."""

import re
from collections.abc import Iterable

from dbanon.errors.base import DbanonError, did_you_mean
from dbanon.errors.example import SHAPES, Example, Situation
from dbanon.sqltext.quote import text


class NotATableError(DbanonError):
    """A source argument that is not the name of a table, view or file."""

    message = (
        "{function}: {text!r} is not the name of a table, a view or a file. Hint: give a name such as "
        "'patients', 'clinic.main.patients', '\"odd name\"' or 'patients.parquet'; to use the result of a "
        "query, CREATE VIEW it first."
    )
    example = Example("FROM kacpc('SELECT 1', k = 10);")


class UnsupportedInputError(DbanonError):
    """Data for `dbanon.anonymize` that are neither rows nor a file of them."""

    message = (
        "{function}: {got} is not a DataFrame (pandas, polars, Arrow), a relation of DuckDB or a file of rows. Hint: "
        "pass the path of a CSV, Parquet or JSON file; for a table of a database, con = "
        "dbanon.connect('clinic.duckdb') and con.sql(\"FROM kacpc('patients', k=10)\")."
    )
    example = Example('dbanon.anonymize("patients", k=10, qi=["age"])', language="python")


class DuplicateColumnError(DbanonError):
    """Two columns of a DataFrame whose names are equal for DuckDB."""

    message = (
        "{function}: the DataFrame has the columns {first!r} and {second!r}, which DuckDB cannot distinguish, because "
        "it ignores upper and lower case. Hint: rename one of them."
    )
    example = Example(
        "import pandas as pd\n\n"
        'twice = pd.DataFrame([[21, 30], [23, 70]], columns=["Age", "age"])\n'
        'dbanon.anonymize(twice, k=2, qi=["age"])',
        language="python",
    )


class UnknownTableError(DbanonError):
    """A table, view or file that does not exist or is not visible to the planner."""

    message_pattern = r"no table, view or file '.*' is visible\."
    example = Example("FROM kacpc('patient', k = 10);")

    def __init__(self, function: str, text: str, tables: Iterable[str]) -> None:
        """Build the message, with the most similar of `tables` as a hint; `text` is the name that was given."""
        suggestion = did_you_mean(text, tables)
        hint = (
            "Hint: COMMIT first if it was created in an open transaction; CREATE VIEW if it is a query of WITH. "
            "Temporary tables, registered DataFrames and names of relation.query() are visible on a connection of "
            "dbanon.connect, and not on one that was only attached: there, CREATE TABLE ... AS FROM it, or call "
            "dbanon.anonymize."
        )
        super().__init__(
            f"{function}: no table, view or file '{text}' is visible.{suggestion}" + ("" if suggestion else f" {hint}")
        )


class CteSourceError(DbanonError):
    """A source that is the name of a query of WITH."""

    message = (
        "{function}: '{name}' is the name of a query in WITH, and functions read only tables, views and files. Hint: "
        "CREATE VIEW {name} AS that query, and name the view; for a table of this name write its schema too: "
        "'main.{name}'."
    )
    example = Example("WITH some AS (FROM patients LIMIT 500) SELECT * FROM kacpc('some', k = 10);")


class AmbiguousTableError(DbanonError):
    """A name that matches two tables."""

    message = "{function}: '{text}' can be {found:or}. Hint: write the full name, database.schema.table."
    example = Example(
        "FROM kacpc('ward.few', k = 10);",
        (
            "CREATE SCHEMA ward;",
            "CREATE TABLE ward.few AS FROM patients LIMIT 5;",
            "ATTACH ':memory:' AS ward;",
            "CREATE TABLE ward.main.few AS FROM patients LIMIT 5;",
        ),
    )


class ShadowedTableError(DbanonError):
    """A temporary object that shadows the resolved table."""

    message = (
        "{function}: '{text}' also names a temporary table or view of this connection, which the planner "
        "cannot see. Hint: write '{resolved}' for the stored table, or CREATE TABLE ... AS FROM the "
        "temporary one."
    )
    example = Example(
        'import duckdb\n\nplain = dbanon.attach(duckdb.connect("dbanon_demo.duckdb"))\n'
        'plain.execute("CREATE TEMP TABLE patients AS FROM patients LIMIT 100")\n'
        "plain.execute(\"FROM kacpc('patients', k = 10)\")",
        language="python",
    )


class UnreadableFileError(DbanonError):
    """A file that DuckDB cannot read, or that the connection's settings forbid."""

    example = Example("FROM kacpc('missing.csv', k = 10);")

    def __init__(self, function: str, path: str, why: str) -> None:
        """Build the message; for a path with `*`, `?` or `[` a hint states that a name means one file."""
        hint = (
            " Hint: a name refers to one file; for several, CREATE VIEW patients AS FROM 'patients*.csv' and name the "
            "view."
            if re.search(r"[*?\[]", path)
            else ""
        )
        super().__init__(f"{function}: cannot read the file '{path}': {why}{hint}")


class FileEncodingError(UnreadableFileError):
    """A file of rows or a hierarchy that is not UTF-8 text; the message quotes nothing of it."""

    example = Example(
        'open("latin.csv", "w", encoding="latin-1").write("city\\n" + "Zürich\\n" * 20)\n'
        'dbanon.anonymize("latin.csv", k=10, qi=["city"])',
        language="python",
    )

    def __init__(self, function: str, sources: Iterable[str], place: str) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            sources: The files or tables that are read; repeated names are shown once.
            place: The place of the first byte that is no UTF-8, such as `line 2`; empty if it is not known.
        """
        sources_text = ", ".join(dict.fromkeys(sources))
        where = f" ({place})" if place else ""
        DbanonError.__init__(
            self,
            f"{function}: the text of {sources_text} is not UTF-8{where}. Hint: convert the file, for example with "
            "iconv -f WINDOWS-1252 -t UTF-8 old.csv > new.csv; or load it with CREATE TABLE ... AS FROM "
            "read_csv('old.csv', encoding = 'latin-1') or encoding = 'utf-16'; LOAD encodings adds windows-1252 and "
            "others.",
        )


class UnsupportedFileError(UnreadableFileError):
    """A file whose ending is not one of a file of rows."""

    def __init__(self, function: str, path: str, endings: Iterable[str]) -> None:
        """Build the message; `endings` are those of files of rows."""
        DbanonError.__init__(
            self,
            f"{function}: the name of the file {text(path)} does not end in {', '.join(endings)}, optionally followed "
            f"by .gz or .zst. Hint: CREATE VIEW ... AS FROM read_csv({text(path)}), or use read_json or read_xlsx "
            "(LOAD excel), and name the view.",
        )

    example = Example(
        "FROM kacpc('people.dat', k = 10, qi = ['sex']);", ("COPY patients TO 'people.dat' (FORMAT csv);",)
    )


class RemoteFileError(DbanonError):
    """A remote file, without the DuckDB extension that reads such files."""

    message = (
        "{function}: '{path}' is on a network, and DuckDB's extension {extension}, which reads such files, is not "
        "loaded. Nothing was fetched. Hint: copy the file to this machine, or INSTALL {extension} once and LOAD "
        "{extension} on this connection first."
    )
    example = Example("FROM kacpc('https://example.org/patients.csv', k = 10);")


class NewerDatabaseError(DbanonError):
    """A database file that was written by a newer DuckDB than the installed one."""

    message = (
        "{path}: a newer DuckDB wrote this file (storage version {version}); the installed DuckDB {installed} reads "
        "{reads}. Hint: pip install --upgrade duckdb; if another package prevents that, the newer DuckDB can copy the "
        "database to a file that this one reads: ATTACH 'copy.duckdb' AS copied (STORAGE_VERSION 'v1.0.0'); COPY FROM "
        "DATABASE ... TO copied."
    )
    example = Situation(
        "It is raised when you open a database that a newer DuckDB wrote.",
        ("clinic.duckdb", "69", "1.5.6", "64 and 68"),
    )


class NewerSchemaError(DbanonError):
    """A database whose schema `dbanon` was written by a newer version of this package."""

    message = (
        "{database}: the schema dbanon has version {version}, and this dbanon reads versions up to {known}: it could "
        "miss rules of the policy or releases in the ledger. Hint: update the clone of dbanon, then pip install -e . "
        "in it."
    )
    example = Situation(
        "It is raised when you open a database in which a later dbanon wrote the schema dbanon.", ("clinic", 2, 1)
    )


class ReadOnlyDatabaseError(DbanonError):
    """A read-only database in which no policy or hierarchy can be stored."""

    message = (
        "{function}: the database {database} is read-only and has no schema dbanon. Hint: state roles and hierarchies "
        "in the call, qi = [...], hierarchies = {{...}}; or attach a database in memory for hierarchies."
    )
    example = Example(
        'import duckdb\n\nwith duckdb.connect("clinic.duckdb") as clinic:\n'
        '    clinic.execute("CREATE TABLE IF NOT EXISTS people AS SELECT 30 AS age")\n'
        'with dbanon.connect("clinic.duckdb", read_only=True) as clinic:\n'
        '    dbanon.declare(clinic, "people", age="quasi")',
        language="python",
    )


class EmptySourceError(DbanonError):
    """A table without rows."""

    message = "{function}: {table} has no rows. Hint: add rows first."
    example = Example("FROM kacpc('nobody', k = 10, qi = ['zip']);", ("CREATE TABLE nobody AS FROM patients LIMIT 0;",))


class AllRowsExcludedError(DbanonError):
    """A table in which nulls := 'drop' leaves no row."""

    message = (
        "{function}: every row of {table} has a NULL in a quasi-identifier, so nulls := 'drop' drops all of them. "
        "Hint: use nulls := 'keep' or withhold the columns that are mostly NULL."
    )
    example = Example("FROM kacpc('shapes', k = 10, qi = ['sex', 'zip'], nulls = 'drop');", (SHAPES,))


class UnreadableValueError(DbanonError):
    """A value that DuckDB could not read, convert or store; its own message would quote the value."""

    example = Example(
        "con.execute(\"FROM kacpc('typed', k = 10, qi = ['disease'])\").fetchall()",
        (
            "CREATE TABLE diagnoses AS SELECT disease FROM patients;",
            "CREATE VIEW typed AS SELECT disease::DATE AS disease FROM diagnoses;",
        ),
        "python",
    )

    def __init__(self, function: str, sources: Iterable[str], kind: str) -> None:
        """Build the message.

        Args:
            function: The function that was called.
            sources: The tables that are read; repeated names are shown once.
            kind: The kind of the error of DuckDB, without the value (see `quoting_error_kind`).
        """
        sources_text = ", ".join(dict.fromkeys(sources))
        super().__init__(
            f"{function}: a value of {sources_text}, or of an argument, could not be read or converted ({kind}). "
            f"DuckDB's message quotes the value, so it is not shown here. Hint: to see it, read all of {sources_text} "
            "directly, as its custodian."
        )


class RecursiveViewError(DbanonError):
    """A view as source that calls the function that shall read it."""

    message = (
        "{function}: the view {view} calls {function}, directly or through another view, and DuckDB cannot expand a "
        "function within itself. Hint: CREATE TABLE ... AS FROM {view}, and name that table."
    )
    example = Example("FROM kacpc('safe', k = 20);", ("CREATE VIEW safe AS SELECT * FROM kacpc('patients', k = 10);",))


class ShadowedBuiltinError(DbanonError):
    """A macro that shadows a function by which DuckDB builds [...] or {...} in a call."""

    example = Example(
        "FROM kacpc('patients', k = 10, withhold = ['zip']);",
        ("CREATE MACRO list_value(a) AS system.main.list_value('sex');",),
    )

    def __init__(self, function: str, macros: Iterable[str]) -> None:
        """Build the message; `macros` are macros that replace functions of DuckDB; at most twelve are named."""
        macro_names = list(macros)
        super().__init__(
            f"{function}: for [...] and {{...}} DuckDB calls functions that a macro can replace, and there is "
            f"{', '.join(macro_names[:12])}: an argument may have another value than the one written. Hint: find out "
            f"who created it, then {'; '.join(f'DROP MACRO {macro}' for macro in macro_names[:12])}."
        )
