"""The cache of cluster labels, as `import dbanon` offers it."""

from typing import Any

from dbanon.runtime import session


def clear_cache(connection: Any) -> None:
    """Forget the cluster labels that are kept for the connection's database instance."""
    session.of_connection(getattr(connection, "raw", connection)).cache.clear()
