"""dbt: a plugin of dbt-duckdb, and a dbt package with what models, seeds and tests need.

The profile names it: `plugins: [{module: dbanon.dbt}]`. `Plugin` is imported when dbt asks for it, so that the rest of
the folder does without dbt.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbanon.integrations.dbt.plugin import Plugin

__all__ = ["Plugin"]


def __getattr__(name: str) -> Any:
    """Return the class `Plugin`, importing dbt at its first use; AttributeError for any other name."""
    if name != "Plugin":
        raise AttributeError(f"module 'dbanon.dbt' has no attribute '{name}'")
    from dbanon.integrations.dbt.plugin import Plugin

    return Plugin
