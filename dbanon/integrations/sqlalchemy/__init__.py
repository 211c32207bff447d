"""Use dbanon from SQLAlchemy: roles on mapped columns, anonymized FROM elements, mapped anonymized views.

`install(engine)` attaches every connection of an engine. `quasi`, `sensitive`, ... return the `info` of mapped columns,
and `declare_models` writes these roles to `dbanon.policy`. `anonymized`, `classes` and `metrics` are FROM elements.
`AnonymizedView` maps a read-only class. Needs the extra `sqlalchemy`.
"""

from importlib import import_module
from typing import Any

from dbanon import errors

try:
    import duckdb_sqlalchemy
    import sqlalchemy  # noqa: F401
except ModuleNotFoundError as missing:
    raise errors.MissingExtraError("dbanon.sqlalchemy", str(missing.name), "sqlalchemy") from None

from dbanon.integrations.sqlalchemy.engine import install
from dbanon.integrations.sqlalchemy.policy import PolicyDiff, declare_models, policy_from_reflection
from dbanon.integrations.sqlalchemy.roles import (
    Role,
    identifier,
    insensitive,
    mask,
    person,
    pseudonym,
    quasi,
    role_of,
    sensitive,
    shift,
)
from dbanon.integrations.sqlalchemy.selectable import anonymized, classes, metrics
from dbanon.integrations.sqlalchemy.view import AnonymizedView, Status

__all__ = [
    "AnonymizedView",
    "PolicyDiff",
    "Role",
    "Status",
    "anonymized",
    "classes",
    "declare_models",
    "identifier",
    "insensitive",
    "install",
    "mask",
    "metrics",
    "person",
    "policy_from_reflection",
    "pseudonym",
    "quasi",
    "role_of",
    "sensitive",
    "shift",
]

# At exit Python clears only modules that something still refers to. pandas, which pyarrow keeps alive, refers to
# SQLAlchemy's classes and these to functions of the dialect: their names would outlive DuckDB, which reports that as a
# leak. A module that one of its own names refers to is cleared.
vars(duckdb_sqlalchemy).setdefault("duckdb_sqlalchemy", duckdb_sqlalchemy)


def __getattr__(name: str) -> Any:
    """Return the module `migration`, imported at its first use because it needs the extra `alembic`.

    AttributeError for any other name.
    """
    if name != "migration":
        raise AttributeError(f"module 'dbanon.sqlalchemy' has no attribute '{name}'")
    return import_module("dbanon.integrations.sqlalchemy.migration")
