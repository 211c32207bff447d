"""Return hierarchies from files and from dbanon itself as rows for dbanon.hierarchy, and stored ones as ARX lines.

ARX lines are `value;level1;...;*`, from the leaf to the root; see `storage`.
"""

from dbanon import errors
from dbanon.errors.example import Example
from dbanon.policy.hierarchies import hierarchy_sql, lookup, storage
from dbanon.runtime import input_files
from dbanon.sqltext import resources
from dbanon.sqltext.quote import Sql
from dbanon.sqltext.templates import fill
from dbanon.table_functions.table_function import Call, TableFunction


def hierarchy_file_sql(call: Call) -> Sql:
    """Return the SQL of hierarchy_from_file(name, path): the hierarchy in an ARX file as rows for dbanon.hierarchy.

    The file is read now.

    Raises:
        UnreadableFileError, RemoteFileError: The file cannot be read.
        MalformedHierarchyError: It is not a hierarchy.
    """
    name = call.text("name")
    arx_text = input_files.read_text(call.function.name, call.text("path"), call.cursor)
    return hierarchy_sql.named_rows(name, hierarchy_sql.paths(storage.parse_arx(name, arx_text)))


def hierarchy_builtin_sql(call: Call) -> Sql:
    """Return the SQL of hierarchy_builtin(name): a hierarchy that comes with dbanon as rows for dbanon.hierarchy.

    Raises:
        UnknownHierarchyError: No such hierarchy comes with dbanon.
    """
    name = call.text("name")
    hierarchy = storage.shipped_hierarchy(name)
    if hierarchy is None:
        raise errors.UnknownHierarchyError(call.function.name, name, "shipped", resources.shipped_hierarchies())
    return hierarchy_sql.named_rows(name, hierarchy_sql.paths(hierarchy))


def hierarchy_to_arx_sql(call: Call) -> Sql:
    """Return the SQL of hierarchy_to_arx(name): the lines of an ARX file for a stored hierarchy.

    The argument may also be the name of a hierarchy that comes with dbanon, or an ARX text.

    Raises:
        UnknownHierarchyError: There is no such hierarchy.
    """
    name = call.text("name")
    hierarchy = lookup.find_hierarchy(call, name, None)
    if hierarchy is None:
        raise errors.UnknownHierarchyError(call.function.name, name, "stored", lookup.hierarchy_names(call, None))
    return Sql(fill("policy/hierarchies/to_arx.sql", rows=hierarchy_sql.rows(hierarchy)))


_COPY_EXAMPLE = (
    "COPY (FROM hierarchy_to_arx('zip5')) TO 'zip.csv' (HEADER false, QUOTE '', ESCAPE '', DELIMITER '\\0');"
)
FUNCTIONS = (
    TableFunction(
        "hierarchy_from_file",
        ("name", "path"),
        (),
        "Returns the rows of a hierarchy in an ARX file, value;level1;...;*.",
        handler=hierarchy_file_sql,
        example=Example("SELECT * FROM hierarchy_from_file('zip_again', 'zip.csv') LIMIT 5;", (_COPY_EXAMPLE,)),
    ),
    TableFunction(
        "hierarchy_builtin",
        ("name",),
        (),
        "Returns the rows of a hierarchy that is shipped with dbanon.",
        handler=hierarchy_builtin_sql,
        example=Example("SELECT * FROM hierarchy_builtin('us_state') LIMIT 5;"),
    ),
    TableFunction(
        "hierarchy_to_arx",
        ("name",),
        (),
        "Returns the lines of an ARX file for a stored hierarchy; write the file with COPY.",
        handler=hierarchy_to_arx_sql,
        example=Example(_COPY_EXAMPLE),
    ),
)
