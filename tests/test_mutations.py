"""The faults of `python -m tests.mutations` fit the code, so that they can be planted."""

from __future__ import annotations

import pytest
from mutations.faults import FAULTS, ROOT

pytestmark = pytest.mark.all_cases


@pytest.mark.parametrize("name", FAULTS)
def test_fault_occurs_once_in_its_file(name: str) -> None:
    fault = FAULTS[name]
    assert fault.planted((ROOT / fault.file).read_text(encoding="utf-8")) is not None
    assert bool(fault.tests) != bool(fault.harmless)
    assert all((ROOT / path.partition("::")[0]).exists() for path in fault.tests)


def test_at_least_thirty_faults() -> None:
    assert len(FAULTS) >= 30
