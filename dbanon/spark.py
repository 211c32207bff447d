"""Spark: `dbanon.integrations.spark` under its public name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbanon.integrations import spark
from dbanon.integrations.spark import __all__ as __all__

if TYPE_CHECKING:
    from dbanon.integrations.spark import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(spark, name)
