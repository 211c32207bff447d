"""The README's SQLAlchemy example runs as it stands."""

from __future__ import annotations

import re
import sys
import types
from pathlib import Path
from typing import Any

import pytest

README = Path(__file__).resolve().parents[1] / "README.md"


def test_the_example_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    section = README.read_text(encoding="utf-8").split("### SQLAlchemy\n")[1].split("\n### ")[0]
    (code,) = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    module: Any = types.ModuleType("readme_example")  # SQLAlchemy looks annotations up in the class's module
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code, module.__dict__)
    assert sum(count for _, count in module.ages) == 100
    assert len(module.diseases) == 60
    assert len(module.first) >= 5
    assert {row.metric for row in module.quality} >= {"k", "precision"}
    module.engine.dispose()
