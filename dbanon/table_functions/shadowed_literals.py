"""Whether the literals of a call, [...] and {...}, are DuckDB's own: a macro of a database can take their place.

What we write ourselves is called by its whole name (`dbanon.sqltext.qualify_builtins`). What a user writes in a call is
looked up on the search path, of a view on that of the view, and DuckDB has evaluated it before the call is seen.
"""

from typing import Any

from dbanon import errors
from dbanon.sqltext.quote import Sql, identifier, joined, qualified, text

LITERALS = ("list_value", "struct_pack", "map", "row")
"""What ['age'], {'age': 2}, MAP {'age': 2} and ('age', 2) call."""

_SCHEMAS = """
SELECT s.database_name, s.schema_name
FROM system.main.duckdb_schemas() AS s, system.main.duckdb_databases() AS d
WHERE s.database_name = d.database_name AND NOT d.internal AND d.type = 'duckdb'
AND s.schema_name NOT IN ('information_schema', 'pg_catalog')
"""
_MACROS = f"""
SELECT DISTINCT database_name, schema_name, function_name
FROM system.main.duckdb_functions()
WHERE NOT internal AND function_type = 'macro' AND system.main.lower(function_name) IN ({joined(map(text, LITERALS))})
ORDER BY ALL ASC NULLS LAST
"""


def refuse(function: str, cursor: Any) -> None:
    """Raise ShadowedBuiltinError where any schema of any attached database has a macro that literals would call.

    `cursor` is one of `session.own_cursor`. Costs about a millisecond and one more for a hundred schemas: the list of
    all functions, which takes fifty, is read only where there may be such a macro.
    """
    path = joined((qualified(*place) for place in cursor.execute(_SCHEMAS).fetchall()), ",")
    cursor.execute(f"SET search_path = {text(path)}")
    try:
        plain = all(cursor.execute(_ASKED).fetchall()[0])
    finally:
        cursor.execute("SET search_path = 'system.main'")
    found = [] if plain else cursor.execute(_MACROS).fetchall()
    if found:
        raise errors.ShadowedBuiltinError(function, [str(qualified(*macro)) for macro in found])


def _asked() -> Sql:
    """Of each name whether it is a function of DuckDB, which it says when one is called as only an aggregate can be."""
    calls = (text(f"SELECT {identifier(name)}() FILTER (WHERE true)") for name in LITERALS)
    said = (f"system.main.json_serialize_plan({call})" for call in calls)
    own = joined(f"system.main.contains({s}, 'is a Scalar Function')" for s in said)
    return Sql(f"SELECT {own}")


_ASKED = _asked()
