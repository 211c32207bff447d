"""The function that plans a call: DuckDB calls it when it binds a table function."""

import json

from dbanon import errors
from dbanon.runtime import interrupts, session
from dbanon.table_functions.dispatch import call_sql


def dbanon_plan(token: str, call: str, places: str) -> str:
    """Plan one call of a table function: return the SQL that answers it, or `!` and the text of an error.

    DbanonError and RuntimeError are returned in this way; other exceptions are raised. A handler of Ctrl-C is installed
    if dbanon has not installed one yet.

    Args:
        token: The session of the connection.
        call: JSON of the function, the slots and the named arguments.
        places: JSON of current_database(), current_schema() and the search path.
    """
    try:
        interrupts.watch_ctrl_c()
        return call_sql(session.session_by_token(token), json.loads(call), json.loads(places))
    except (errors.DbanonError, RuntimeError) as error:
        return f"!{error}"
