"""Find the hierarchies that a call or a policy names."""

from dbanon.policy.hierarchies import storage
from dbanon.source import catalog
from dbanon.sqltext import resources
from dbanon.table_functions.table_function import Call


def find_hierarchy(
    call: Call, name: str, source: catalog.Source | None, is_declared: bool = False
) -> storage.Hierarchy | None:
    """Return a hierarchy by name: a stored one, ARX rows as text (with `;`), or one that comes with dbanon; else None.

    A stored hierarchy is looked up in the database of the source's policy, and then in that of the session; only in the
    former if a policy names it (`is_declared`), so that no other database can replace it.

    Raises:
        MalformedHierarchyError: The name is an ARX text that is not a tree.
    """
    stored = catalog.hierarchy_table(name, _databases(call, source, is_declared), call.hierarchies, is_declared)
    if stored:
        return storage.StoredHierarchy(*stored)
    return storage.parse_arx("given as text", name) if ";" in name else storage.shipped_hierarchy(name)


def hierarchy_names(call: Call, source: catalog.Source | None, is_declared: bool = False) -> list[str]:
    """Return the names of the hierarchies that `find_hierarchy` finds, stored ones first.

    `source` is the table whose policy's database is searched; `is_declared` is whether a policy names the hierarchy,
    and then only that database is searched. Hierarchies that come with dbanon are always included.
    """
    stored = [n for db in _databases(call, source, is_declared) for n in call.hierarchies(db)]
    return [*stored, *resources.shipped_hierarchies()]


def _databases(call: Call, source: catalog.Source | None, is_declared: bool) -> list[str]:
    """Return the databases in which hierarchies are looked up: that of the source's policy, then that of the session.

    Only the former if the policy names the hierarchy (`is_declared`) and there is a source.
    """
    with_policy = [source.home] if source else []
    if is_declared and with_policy:
        return with_policy
    return list(dict.fromkeys([*with_policy, call.path.database]))
