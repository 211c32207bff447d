"""The faults of `python -m tests.mutations` fit the code, so that they can be planted."""

from __future__ import annotations

from mutations.faults import FAULTS, ROOT


def test_faults_occur_once_in_their_file() -> None:
    texts = {file: (ROOT / file).read_text(encoding="utf-8") for file in {fault.file for fault in FAULTS.values()}}
    assert not [name for name, fault in FAULTS.items() if fault.planted(texts[fault.file]) is None]


def test_faults_have_either_tests_that_exist_or_reason() -> None:
    assert not [name for name, fault in FAULTS.items() if bool(fault.tests) == bool(fault.harmless)]
    paths = {(name, path.partition("::")[0]) for name, fault in FAULTS.items() for path in fault.tests}
    assert not [(name, path) for name, path in paths if not (ROOT / path).exists()]


def test_at_least_thirty_faults() -> None:
    assert len(FAULTS) >= 30
