"""What MySQL's own catalog says of a view: which tables its text names. MariaDB keeps nothing else of that."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from dbanon.source import attached_databases
from dbanon.sqltext.quote import text

KIND = "mysql"


def reads(cursor: Any, place: attached_databases.Place) -> list[attached_databases.Place]:
    """What a view reads, also through other views; itself is not among them.

    Every table that it may read is, and where its text is not shown to who asks, or names what is not, all tables of
    the server are. What stored functions read, and what tables of engines such as FEDERATED stand for, is not seen.
    """
    rows = cursor.execute(f"SELECT * FROM system.main.mysql_query({text(place[0])}, {text(_VIEWS)})").fetchall()
    views: dict[_Key, list[str]] = {}
    for schema, name, definition in rows:
        views.setdefault(_key(schema, name), []).append(definition or "")
    wanted = [_key(*place[1:])]
    if wanted[0] not in views:
        return []
    places = {_key(*p[1:]): p for p in attached_databases.relations(cursor, place[0], KIND)}
    found: set[_Key] = set()
    while wanted:
        view = wanted.pop()
        for definition in views.get(view, ()):  # of more than one where capitals differ
            read = named(definition, view[0], places)
            if read is None:
                return [p for p in places.values() if p != place]
            wanted += read - found
            found |= read
    return [places[key] for key in sorted(found - {_key(*place[1:])})]


_VIEWS = (
    "SELECT table_schema, table_name, view_definition FROM information_schema.views "
    "WHERE table_schema NOT IN ('mysql', 'sys', 'information_schema', 'performance_schema')"
)

_Key = tuple[str, str]
"""Schema and name in lower case: how a server compares them depends on its files."""


def _key(schema: str, name: str) -> _Key:
    return schema.lower(), name.lower()


_NAME = r"`((?:[^`]|``)+)`"
_READ = re.compile(rf"(?=\b(?:from|join)\s[\s(]*{_NAME}(?:\.{_NAME})?)", re.IGNORECASE)
"""A table as the text of a view has it after FROM or JOIN. It consumes nothing: quotes in a text hide none."""


_PART = re.compile(r"\bextract\(\w+ from\b", re.IGNORECASE)
"""A FROM that no table stands after."""


def named(definition: str, schema: str, places: Iterable[_Key] | Mapping[_Key, object]) -> set[_Key] | None:
    """Those of the tables that the text of a view in a schema may read; None where it reads others, too, or is empty.

    >>> sorted(named("select `p`.`id` AS `id` from (`w`.`p` `p` join `w`.`q`)", "w", [("w", "p"), ("w", "q")]))
    [('w', 'p'), ('w', 'q')]
    >>> named("select 1 AS `1` from `hidden`.`p`", "w", [("w", "p")]) is None
    True
    """
    known = set(places)
    if not definition:
        return None
    lower = definition.lower()
    found = {key for key in known if f"{_quoted(key[0])}.{_quoted(key[1])}" in lower}
    for first, second in _READ.findall(_PART.sub("extract(", definition)):
        first, second = (part.replace("``", "`") for part in (first, second))
        key = _key(first, second) if second else (schema, first.lower())
        if key in known:
            found.add(key)
        elif second:  # else the name of a WITH clause
            return None
    return found


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
