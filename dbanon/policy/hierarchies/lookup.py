"""The hierarchies that a call can name."""

from dbanon.policy.hierarchies import storage
from dbanon.source import catalog
from dbanon.sqltext import resources
from dbanon.table_functions.table_function import Call


def find_hierarchy(
    call: Call, name: str, source: catalog.Source | None, is_declared: bool = False
) -> storage.Hierarchy | None:
    """Return a hierarchy by name: ARX rows as text, a stored one, or a shipped one; None where there is none.

    One that a call names is stored with the source or in the session's database. One that a policy names
    (`is_declared`) is stored with the policy and nowhere else, so that no other database can replace it.
    """
    stored = catalog.hierarchy_table(name, _databases(call, source, is_declared), call.hierarchies, is_declared)
    if stored:
        return storage.StoredHierarchy(*stored)
    return storage.parse_arx("given as text", name) if ";" in name else storage.shipped_hierarchy(name)


def hierarchy_names(call: Call, source: catalog.Source | None, is_declared: bool = False) -> list[str]:
    """Return names that `find` knows."""
    stored = [n for db in _databases(call, source, is_declared) for n in call.hierarchies(db)]
    return [*stored, *resources.shipped_hierarchies()]


def _databases(call: Call, source: catalog.Source | None, is_declared: bool) -> list[str]:
    """Where hierarchies are looked up: where the source's policy is, then in the session's database."""
    with_policy = [source.home] if source else []
    if is_declared and with_policy:
        return with_policy
    return list(dict.fromkeys([*with_policy, call.path.database]))
