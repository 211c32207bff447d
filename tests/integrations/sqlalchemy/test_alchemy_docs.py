"""The SQLAlchemy examples of the documentation run unchanged."""

from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import pytest
from support import documents


def test_sqlalchemy_page_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    page = documents.ROOT / "docs" / "sqlalchemy.md"
    code, query, error = (code for language, code in documents.blocks(page) if language == "python")
    module: Any = types.ModuleType("readme_example")  # SQLAlchemy looks annotations up in the class's module
    monkeypatch.setitem(sys.modules, module.__name__, module)
    exec(code, module.__dict__)
    assert sum(count for _, count in module.ages) == 100
    assert len(module.diseases) == 60
    assert len(module.first) >= 5
    assert {row.metric for row in module.quality} >= {"k", "precision"}
    exec(query, module.__dict__)
    assert "['age', 'disease', 'class_id']" in capsys.readouterr().out
    exec(error, module.__dict__)
    assert capsys.readouterr().out.strip() == error.splitlines()[-1].split("# ")[1]
    module.engine.dispose()
