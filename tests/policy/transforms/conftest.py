"""One database for the tests of pseudonyms: 300 patients, their policy, and the key in the environment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from support.pseudonyms import PATIENTS, SECRET

import dbanon


@pytest.fixture(autouse=True)
def secret_key(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("DBANON_KEY", SECRET)
    return SECRET


@pytest.fixture(scope="module")
def empty_con() -> Iterator[Any]:
    con = dbanon.connect()
    yield con
    con.close()


@pytest.fixture
def con(empty_con: Any) -> Any:
    """Provide the patients, with pseudonyms, ages and diseases published."""
    empty_con.execute(PATIENTS)
    empty_con.execute("DELETE FROM dbanon.policy")
    dbanon.declare(empty_con, "patients", patient={"role": "pseudonym", "settings": {"length": 12, "prefix": "P-"}},
                   age="quasi", disease="sensitive")  # fmt: skip
    return empty_con
