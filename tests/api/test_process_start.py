"""A process attaches once and loads only what a call needs."""

from typing import Any

import pytest

import dbanon
from dbanon.api import connection as connections


def test_stored_hierarchies_attach_no_cursor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Storing a hierarchy needs none of dbanon's functions, so no macro is created for it."""
    with dbanon.connect() as con:
        attached: list[Any] = []
        monkeypatch.setattr(connections, "attach", lambda raw: attached.append(raw))
        dbanon.load_hierarchy(con, "zip", [["021", "*"], ["022", "*"]])
        assert con.execute("SELECT count(*) FROM dbanon.hierarchy").fetchall() == [(3,)]
        assert not attached
