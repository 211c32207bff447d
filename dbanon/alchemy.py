"""The former name of `dbanon.sqlalchemy`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbanon.integrations import sqlalchemy
from dbanon.integrations.sqlalchemy import __all__ as __all__

if TYPE_CHECKING:
    from dbanon.integrations.sqlalchemy import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(sqlalchemy, name)
