"""DataFrames of Spark, anonymized by Spark's processes: `dbanon.spark.anonymize(df, k=10)`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dbanon.integrations.spark.api import anonymize
    from dbanon.integrations.spark.sql_session import install

__all__ = ["anonymize", "install"]

_HOMES = {"anonymize": "api", "install": "sql_session"}


def __getattr__(name: str) -> Any:
    """Return `anonymize` or `install`, importing Spark at the first use.

    Raises:
        AttributeError: It is another name.
        MissingExtraError: pyspark is not installed.
    """
    if name not in _HOMES:
        raise AttributeError(f"module 'dbanon.spark' has no attribute '{name}'")
    from importlib import import_module

    from dbanon.errors import MissingExtraError

    try:
        import_module("pyspark.sql")
    except ImportError:
        raise MissingExtraError("dbanon.spark", "pyspark", "spark") from None
    return getattr(import_module(f"dbanon.integrations.spark.{_HOMES[name]}"), name)
