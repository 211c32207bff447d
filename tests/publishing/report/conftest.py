"""A release and both forms of its report, made once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.report_pages import SOURCE, build

import dbanon


@pytest.fixture(scope="session")
def clinic(tmp_path_factory: Any) -> Iterator[Any]:
    """Return the connection, the path of its database and both pages of the release `safe`."""
    path = tmp_path_factory.mktemp("clinic") / "clinic.duckdb"
    con = build(path)
    dbanon.create_release(con, "safe", "mondrian", SOURCE, k=5, alpha=0.9)
    pages = dbanon.report(con, "safe"), dbanon.report(con, "safe", outgoing=True)
    yield con, path, *pages
    con.close()
