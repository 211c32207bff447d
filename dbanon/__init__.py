"""dbanon: anonymization that lives in the database.

    SELECT * FROM best('patients', k=10);

`attach` puts the table functions on a DuckDB connection; `connect` opens one that has them. The policy and the
hierarchies are tables of the schema `dbanon`; `declare` and `load_hierarchy` write them from Python. `anonymize` does
without a database.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dbanon.runtime.version import __version__ as __version__

if TYPE_CHECKING:
    from dbanon.api.anonymize_query import anonymize_query
    from dbanon.api.audit import attack, profile, risk
    from dbanon.api.cache import clear_cache
    from dbanon.api.compare import compare, tradeoffs
    from dbanon.api.connection import Connection, connect
    from dbanon.api.explain import explain
    from dbanon.api.extensions import load_extension
    from dbanon.api.frame import Anonymized, anonymize
    from dbanon.api.publish import publish
    from dbanon.api.stream import anonymize_stream
    from dbanon.api.warmup import WarmupResult, warmup
    from dbanon.audit.plots.plot import plot
    from dbanon.errors import DbanonError, RefusedError, UsageError
    from dbanon.errors.warnings import (
        DisclosureWarning,
        PersonSpellingsWarning,
        PolicyWarning,
        UnrecordedFileWarning,
        UtilityWarning,
    )
    from dbanon.integrations.notebook.progress import ProgressBar
    from dbanon.policy.declare import declare, relate
    from dbanon.policy.hierarchies.store import load_hierarchy, save_hierarchy
    from dbanon.publishing.certificate import certificate
    from dbanon.publishing.report.report import report
    from dbanon.publishing.verify import verify
    from dbanon.udf.install import attach
    from dbanon.views.drop import drop_release, forget_release
    from dbanon.views.materialize import Release, create_release, refresh_release
    from dbanon.views.stream_refresh import StreamRefreshResult
    from dbanon.views.streaming import create_stream, drop_stream, refresh_stream

_HOMES = {
    "Anonymized": "api.frame",
    "Connection": "api.connection",
    "DbanonError": "errors",
    "DisclosureWarning": "errors.warnings",
    "PersonSpellingsWarning": "errors.warnings",
    "PolicyWarning": "errors.warnings",
    "ProgressBar": "integrations.notebook.progress",
    "RefusedError": "errors",
    "Release": "views.build_version",
    "StreamRefreshResult": "views.stream_refresh",
    "UnrecordedFileWarning": "errors.warnings",
    "UsageError": "errors",
    "UtilityWarning": "errors.warnings",
    "WarmupResult": "api.warmup",
    "anonymize": "api.frame",
    "anonymize_query": "api.anonymize_query",
    "anonymize_stream": "api.stream",
    "attach": "udf.install",
    "attack": "api.audit",
    "certificate": "publishing.certificate",
    "tradeoffs": "api.compare",
    "clear_cache": "api.cache",
    "compare": "api.compare",
    "connect": "api.connection",
    "create_release": "views.materialize",
    "create_stream": "views.streaming",
    "declare": "policy.declare",
    "drop_release": "views.drop",
    "drop_stream": "views.streaming",
    "explain": "api.explain",
    "forget_release": "views.drop",
    "load_extension": "api.extensions",
    "load_hierarchy": "policy.hierarchies.store",
    "load_ipython_extension": "integrations.notebook.extension",
    "plot": "audit.plots.plot",
    "profile": "api.audit",
    "publish": "api.publish",
    "refresh_release": "views.materialize",
    "refresh_stream": "views.streaming",
    "relate": "policy.declare",
    "report": "publishing.report.report",
    "risk": "api.audit",
    "save_hierarchy": "policy.hierarchies.store",
    "unload_ipython_extension": "integrations.notebook.extension",
    "verify": "publishing.verify",
    "warmup": "api.warmup",
}

__all__ = [
    "Anonymized",
    "Connection",
    "DbanonError",
    "DisclosureWarning",
    "PersonSpellingsWarning",
    "PolicyWarning",
    "ProgressBar",
    "RefusedError",
    "Release",
    "StreamRefreshResult",
    "UnrecordedFileWarning",
    "UsageError",
    "UtilityWarning",
    "WarmupResult",
    "anonymize",
    "anonymize_query",
    "anonymize_stream",
    "attach",
    "attack",
    "certificate",
    "clear_cache",
    "compare",
    "connect",
    "create_release",
    "create_stream",
    "declare",
    "drop_release",
    "drop_stream",
    "explain",
    "forget_release",
    "load_extension",
    "load_hierarchy",
    "plot",
    "profile",
    "publish",
    "refresh_release",
    "refresh_stream",
    "relate",
    "report",
    "risk",
    "save_hierarchy",
    "tradeoffs",
    "verify",
    "warmup",
]


_RENAMED = {
    "Grown": "StreamRefreshResult",
    "choose": "tradeoffs",
    "Warmed": "WarmupResult",
    "drop": "drop_release",
    "materialize": "create_release",
    "refresh": "refresh_release",
    "with_metrics": "anonymize_query",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, so that `import dbanon` costs nothing."""
    if name not in _HOMES:
        hint = f"; dbanon.{name} is now dbanon.{_RENAMED[name]}" if name in _RENAMED else ""
        raise AttributeError(f"module 'dbanon' has no attribute '{name}'{hint}")
    from importlib import import_module

    return getattr(import_module(f"dbanon.{_HOMES[name]}"), name)
