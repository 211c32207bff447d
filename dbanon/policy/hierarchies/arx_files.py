"""Hierarchies from files and from the package as rows for dbanon.hierarchy, and stored ones as files."""

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy.hierarchies import hierarchy_sql, lookup, storage
from dbanon.runtime import input_files
from dbanon.sqltext import resources
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call, TableFunction


def file(call: Call) -> Sql:
    """hierarchy_file(name, path).

    Rows of an ARX file; UnreadableFileError, RemoteFileError, MalformedHierarchyError.
    """
    name = call.text("name")
    arx = input_files.read_text(call.function.name, call.text("path"), call.cursor)
    return hierarchy_sql.named_rows(name, hierarchy_sql.paths(storage.read_arx(name, arx)))


def shipped(call: Call) -> Sql:
    """hierarchy_shipped(name): rows of a hierarchy of the package; UnknownHierarchyError."""
    name = call.text("name")
    hierarchy = storage.shipped(name)
    if hierarchy is None:
        raise errors.UnknownHierarchyError(call.function.name, name, "shipped", resources.shipped_hierarchies())
    return hierarchy_sql.named_rows(name, hierarchy_sql.paths(hierarchy))


def arx(call: Call) -> Sql:
    """hierarchy_arx(name): the lines of an ARX file; UnknownHierarchyError."""
    name = call.text("name")
    hierarchy = lookup.find(call, name, None)
    if hierarchy is None:
        raise errors.UnknownHierarchyError(call.function.name, name, "stored", lookup.known(call, None))
    return Sql(fill("policy/hierarchies/to_arx.sql", rows=hierarchy_sql.rows(hierarchy)))


_COPY = "COPY (FROM hierarchy_arx('zip5')) TO 'zip.csv' (HEADER false, QUOTE '', ESCAPE '', DELIMITER '\\0');"
FUNCTIONS = (
    TableFunction(
        "hierarchy_file",
        ("name", "path"),
        (),
        "Rows of a hierarchy in an ARX file, value;level1;...;*.",
        handler=file,
        example=Example("SELECT * FROM hierarchy_file('zip_again', 'zip.csv') LIMIT 5;", (_COPY,)),
    ),
    TableFunction(
        "hierarchy_shipped",
        ("name",),
        (),
        "Rows of a hierarchy that comes with dbanon.",
        handler=shipped,
        example=Example("SELECT * FROM hierarchy_shipped('us_state') LIMIT 5;"),
    ),
    TableFunction(
        "hierarchy_arx",
        ("name",),
        (),
        "Lines of an ARX file for a stored hierarchy; COPY them out.",
        handler=arx,
        example=Example(_COPY),
    ),
)
