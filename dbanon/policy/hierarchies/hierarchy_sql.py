"""Return a hierarchy as a relation: rows (node, parent, label, ord), or label paths from the root."""

from collections.abc import Sequence

from dbanon.policy.hierarchies.storage import InlineHierarchy, StoredHierarchy
from dbanon.source.catalog import SCHEMA
from dbanon.sqltext.quote import Sql, as_json, qualified, text
from dbanon.sqltext.templates import fill


def rows(hierarchy: StoredHierarchy | InlineHierarchy) -> Sql:
    """Return SQL of the rows (node, parent, label, ord) of a hierarchy; a stored one is read when the query runs."""
    if isinstance(hierarchy, StoredHierarchy):
        table = stored_table(hierarchy)
        columns = (
            "node COLLATE POSIX AS node, parent COLLATE POSIX AS parent, label COLLATE POSIX AS label, "
            "COLUMNS('^(position|ord)$') AS ord"
        )
        return Sql(f"SELECT {columns} FROM {table} WHERE (name COLLATE POSIX) = {text(hierarchy.name)}")
    return rows_from_paths(paths(hierarchy))


def stored_table(hierarchy: StoredHierarchy) -> Sql:
    """Return the qualified name of the table with the rows of a stored hierarchy."""
    return qualified(hierarchy.database, SCHEMA, "hierarchy")


def path_lists(hierarchy: InlineHierarchy) -> Sql:
    """Return SQL of the paths of labels from the root to all leaves of an inline hierarchy: VARCHAR[][]."""
    return Sql(f"from_json({as_json([list(p) for p in hierarchy.paths])}, '[[\"VARCHAR\"]]')")


def node_lists(hierarchy: InlineHierarchy) -> Sql:
    """Return SQL of the nodes of an inline hierarchy, each [node, parent, label]: VARCHAR[][]. O(nodes).

    A node is its path, as `rows` has it. They are in the order of their first appearance, so parents are before their
    children.
    """
    nodes = dict.fromkeys(path[:depth] for path in hierarchy.paths for depth in range(1, len(path) + 1))
    lists = [[_node_text(path), _node_text(path[:-1]) if len(path) > 1 else None, path[-1]] for path in nodes]
    return Sql(f"from_json({as_json(lists)}, '[[\"VARCHAR\"]]')")


def _node_text(path: Sequence[str]) -> str:
    """Return the node that a path of labels leads to: the labels joined by slashes, with those in labels escaped."""
    return "/".join(label.replace("\\", "\\\\").replace("/", "\\/") for label in path)


def paths(hierarchy: InlineHierarchy) -> Sql:
    """Return SQL of the paths of labels of an inline hierarchy: rows (path from the root to a leaf, place from 1)."""
    return Sql(
        "SELECT unnest(paths) AS path, generate_subscripts(paths, 1) AS place "
        f"FROM (SELECT {path_lists(hierarchy)} AS paths)"
    )


def rows_from_paths(relation: Sql) -> Sql:
    """Return SQL of rows (node, parent, label, ord) for a relation of the paths of labels to all leaves.

    `relation` has the columns path (VARCHAR[] from the root) and place (position of the leaf). There is one row per
    node.
    """
    return Sql(fill("policy/hierarchies/hierarchy_rows.sql", paths=relation))


def named_rows(name: str, paths: Sql) -> Sql:
    """Return SQL of rows for dbanon.hierarchy: name, node, parent, label, position; ordered by position.

    `paths` is SQL of a relation of label paths (path VARCHAR[] from the root, place).
    """
    return Sql(
        f"SELECT {text(name)} AS name, node, parent, label, ord AS position FROM ({rows_from_paths(paths)}) ORDER BY "
        f"position ASC, node ASC"
    )
