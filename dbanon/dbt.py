"""dbt: `dbanon.integrations.dbt` under its public name, which the profile of a project gives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbanon.integrations import dbt
from dbanon.integrations.dbt import __all__ as __all__

if TYPE_CHECKING:
    from dbanon.integrations.dbt import *  # noqa: F403


def __getattr__(name: str) -> Any:
    return getattr(dbt, name)
