"""Clear the cache of cluster labels."""

from typing import Any

from dbanon.runtime import session


def clear_cache(connection: Any) -> None:
    """Remove the cached cluster labels (results of clustering), which all connections of the database instance share.

    Args:
        connection: A connection of `dbanon.connect`, or a DuckDB connection to which `dbanon.attach` was applied.

    Raises:
        ConnectionNotAttachedError: dbanon is not attached to the connection.

    Examples:
        >>> import dbanon
        >>> dbanon.clear_cache(dbanon.connect())
    """
    session.find_session(session.plain_connection(connection)).cache.clear()
