"""Check that the literals of a call, [...] and {...}, are DuckDB's own: a macro of a database can replace them.

SQL that dbanon writes calls functions by qualified names (`dbanon.sqltext.qualify_builtins`). The literals in a user's
call are looked up on the search path (in a view, on that of the view), and DuckDB evaluates them before dbanon sees the
call.
"""

from typing import Any

from dbanon import errors
from dbanon.sqltext.quote import Sql, identifier, join_sql, qualified, text

LITERALS = ("list_value", "struct_pack", "map", "row")
"""Functions that ['age'], {'age': 2}, MAP {'age': 2} and ('age', 2) call."""

_SCHEMAS = """
SELECT s.database_name, s.schema_name
FROM system.main.duckdb_schemas() AS s, system.main.duckdb_databases() AS d
WHERE s.database_name = d.database_name AND NOT d.internal AND d.type = 'duckdb'
AND s.schema_name NOT IN ('information_schema', 'pg_catalog')
"""
_MACROS = f"""
SELECT DISTINCT database_name, schema_name, function_name
FROM system.main.duckdb_functions()
WHERE NOT internal AND function_type = 'macro' AND system.main.lower(function_name) IN ({join_sql(map(text, LITERALS))})
ORDER BY ALL ASC NULLS LAST
"""


def check_literals(function: str, cursor: Any) -> None:
    """Raise an error if a database has a macro that a list, struct, map or row literal of a call would run.

    Takes about 1 ms, and 1 ms per hundred schemas: the list of all functions, which takes 50 ms, is only read if there
    may be such a macro.

    Args:
        function: The table function that is called, for the message.
        cursor: A cursor of `session.builtin_cursor`. Its search path is changed and set to system.main at the end.

    Raises:
        ShadowedBuiltinError: There is such a macro in an attached database.
    """
    path = join_sql((qualified(*place) for place in cursor.execute(_SCHEMAS).fetchall()), ",")
    cursor.execute(f"SET search_path = {text(path)}")
    try:
        all_builtin = all(cursor.execute(_BUILTIN_CHECK).fetchall()[0])
    finally:
        cursor.execute("SET search_path = 'system.main'")
    macros = [] if all_builtin else cursor.execute(_MACROS).fetchall()
    if macros:
        raise errors.ShadowedBuiltinError(function, [str(qualified(*macro)) for macro in macros])


def _builtin_check_sql() -> Sql:
    """Return a query with one boolean per function of LITERALS: whether its name calls DuckDB's own function.

    A macro of the user can replace the functions that literals such as [...] and {...} call. The query plans a call
    with FILTER, which only aggregates accept: the error names DuckDB's own scalar function, if it is the one called.
    """
    calls = (text(f"SELECT {identifier(name)}() FILTER (WHERE true)") for name in LITERALS)
    plans = (f"system.main.json_serialize_plan({call})" for call in calls)
    checks = join_sql(f"system.main.contains({plan}, 'is a Scalar Function')" for plan in plans)
    return Sql(f"SELECT {checks}")


_BUILTIN_CHECK = _builtin_check_sql()
