"""The public names of `dbanon`."""

from __future__ import annotations

import pytest

import dbanon


def test_public_names_can_be_imported() -> None:
    assert sorted(dbanon.__all__) == dbanon.__all__
    for name in dbanon.__all__:
        assert getattr(dbanon, name).__module__.startswith("dbanon.")


@pytest.mark.parametrize(("old", "new"), dbanon._RENAMED.items())
def test_old_public_name_states_new_one(old: str, new: str) -> None:
    assert hasattr(dbanon, new)
    with pytest.raises(AttributeError, match=rf"dbanon\.{old} is now dbanon\.{new}$"):
        getattr(dbanon, old)


def test_unknown_public_name_has_no_hint() -> None:
    with pytest.raises(AttributeError, match=r"has no attribute 'anonymise'$"):
        getattr(dbanon, "anonymise")  # noqa: B009
