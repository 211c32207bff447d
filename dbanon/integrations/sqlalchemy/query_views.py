"""Find the views with a policy, and the rows of other queries, that a query reads.

Views with a policy are checked as tables are, not by what they read.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from dbanon.integrations.sqlalchemy.query_plan import Place, PlanNotReadError, StoredView, plan_shape, serialized_plan
from dbanon.runtime import session
from dbanon.source import stored_policy
from dbanon.source.bound_scans import Scan, bound_scans
from dbanon.source.governed_tables import TEMPORARY, governed_views
from dbanon.source.view_mentions import temporary_views, text_mentions
from dbanon.sqltext import names
from dbanon.sqltext.quote import qualified


def views_read(connection: Any, cursor: Any, query: str, scans: tuple[Scan, ...]) -> list[Place]:
    """Return (database, schema, name) of the views with a policy that a query reads.

    A view counts as read if the query mentions its name and scans all tables that the view scans.

    Args:
        connection: The connection that binds the views.
        cursor: A cursor that reads the catalog.
        query: The text of the query.
        scans: The tables that the query scans.
    """
    governed_places = {".".join(place): place for place in stored_policy.governed_views(cursor)}
    if not governed_places:
        return []
    temporary = temporary_views(connection)
    mentions = text_mentions([query], cursor, temporary)
    candidates = [governed_places[view_name] for view_name in governed_views(None, mentions, scans, cursor, temporary)]
    return [
        place for place in candidates if set(bound_scans(connection, f"FROM {qualified(*place)}") or ()) <= set(scans)
    ]


def direct_query_tables(
    connection: Any, cursor: Any, query: str, parameters: Sequence[object], scans: Iterable[Scan]
) -> list[str]:
    """Return the temporary tables of other queries to be anonymized that a query reads without anonymizing them.

    These tables store the raw rows of such queries. A call of a table function names its table exactly once, in a
    parameter of the statement; any other mention reads the rows.

    Args:
        connection: The connection that runs the query.
        cursor: A cursor that reads the catalog.
        query: The text of the query.
        parameters: The values of its parameters.
        scans: The tables that it scans.
    """
    policies = session.find_session(connection).temporary.policies
    temporary_tables = {scan.place[2] for scan in scans if scan.place and scan.place[0] == TEMPORARY}
    query_tables = {name for name in temporary_tables if names.fold_case(name) in policies}
    if not query_tables:
        return []
    mentions = text_mentions([query], cursor, temporary_views(connection))
    texts = [names.fold_case(literal) for literal in mentions.literals]
    parameter_names = [names.fold_case(value) for value in parameters if isinstance(value, str)]
    return [
        name
        for name in query_tables
        if names.fold_case(name) in mentions.relations
        or any(names.fold_case(name) in literal for literal in texts)
        or parameter_names.count(names.fold_case(name)) != 1
    ]


def view_shapes(connection: Any, places: Iterable[Place]) -> dict[str, StoredView]:
    """Return views by the shape of their plan (`plan_shape`), so that equal queries are found.

    A query that computes the same as a view reads the same rows, so it is treated as a read of the view. If several
    views have one shape, all are omitted, and so is a view whose plan cannot be serialized.

    Args:
        connection: The connection that binds the views.
        places: Database, schema and name of each view.
    """
    views_by_shape: dict[str, list[StoredView]] = {}
    for place in places:
        try:
            plan = serialized_plan(connection, f"FROM {qualified(*place)}")
        except PlanNotReadError:
            continue
        (view,) = plan["children"]
        columns = tuple(str(expression["alias"]) for expression in plan["expressions"])
        views_by_shape.setdefault(plan_shape(view), []).append(StoredView(place, columns))
    return {shape: views[0] for shape, views in views_by_shape.items() if len(views) == 1}
