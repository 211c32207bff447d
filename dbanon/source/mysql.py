"""The tables that a view of MySQL reads, from the text that the server's catalog has; MariaDB stores nothing else."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dbanon.source import attached_databases
from dbanon.sqltext.quote import text

KIND = "mysql"


def tables_read(cursor: Any, place: attached_databases.Place) -> list[attached_databases.Place]:
    """Return the tables that a view of MySQL reads, also through other views, without itself; [] for a table.

    Every table that the view may read is included. If its text is not visible to the user of the connection, or names
    an unknown table, all other tables of the server are returned. Tables that stored functions read, and those behind
    engines such as FEDERATED, are not detected.

    `place` is database (the attached name), schema and name of the view.
    """
    rows = cursor.execute(f"SELECT * FROM system.main.mysql_query({text(place[0])}, {text(_VIEWS)})").fetchall()
    views: dict[_Key, list[str]] = {}
    for schema, name, definition in rows:
        views.setdefault(_key(schema, name), []).append(definition or "")
    pending_views = [_key(*place[1:])]
    if pending_views[0] not in views:
        return []
    places = {_key(*p[1:]): p for p in attached_databases.relations(cursor, place[0], KIND)}
    keys_read: set[_Key] = set()
    while pending_views:
        view = pending_views.pop()
        for definition in views.get(view, ()):  # of more than one where capitals differ
            named_keys = tables_in_definition(definition, view[0], places)
            if named_keys is None:
                return [p for p in places.values() if p != place]
            pending_views += named_keys - keys_read
            keys_read |= named_keys
    return [places[key] for key in sorted(keys_read - {_key(*place[1:])})]


_VIEWS = (
    "SELECT table_schema, table_name, view_definition FROM information_schema.views "
    "WHERE table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
)

_Key = tuple[str, str]
"""Schema and name in lower case: whether a server compares them with case depends on its file system."""


def _key(schema: str, name: str) -> _Key:
    """Return schema and name in lower case."""
    return schema.lower(), name.lower()


_NAME = r"`((?:[^`]|``)+)`"
_TABLE_READ = re.compile(rf"(?=\b(?:from|join)\s[\s(]*{_NAME}(?:\.{_NAME})?)", re.IGNORECASE)
"""A table after FROM or JOIN in the text of a view. It matches the empty string, so that quotes in texts cannot hide
any."""


_EXTRACT_FROM = re.compile(r"\bextract\(\w+ from\b", re.IGNORECASE)
"""A FROM that is not followed by a table."""


def tables_in_definition(
    definition: str, schema: str, places: Iterable[_Key] | Mapping[_Key, object]
) -> set[_Key] | None:
    """Return those of `places` that a view definition may read; None if it is empty or reads an unknown table.

    Args:
        definition: The text of the view, as MySQL stores it.
        schema: The schema of the view.
        places: Known tables as (schema, name) in lower case.

    >>> view = "select `p`.`id` AS `id` from (`w`.`p` `p` join `w`.`q`)"
    >>> sorted(tables_in_definition(view, "w", [("w", "p"), ("w", "q")]))
    [('w', 'p'), ('w', 'q')]
    >>> tables_in_definition("select 1 AS `1` from `hidden`.`p`", "w", [("w", "p")]) is None
    True
    """
    known_keys = set(places)
    if not definition:
        return None
    lower_definition = definition.lower()
    named_keys = {key for key in known_keys if f"{_quoted(key[0])}.{_quoted(key[1])}" in lower_definition}
    for first, second in _TABLE_READ.findall(_EXTRACT_FROM.sub("extract(", definition)):
        first, second = (part.replace("``", "`") for part in (first, second))
        key = _key(first, second) if second else (schema, first.lower())
        if key in known_keys:
            named_keys.add(key)
        elif second:  # else the name of a WITH clause
            return None
    return named_keys


def _quoted(name: str) -> str:
    """Return a name in backquotes, as MySQL writes it."""
    return "`" + name.replace("`", "``") + "`"
