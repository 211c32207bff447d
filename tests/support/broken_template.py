"""A template with a fault, for one test."""

from __future__ import annotations

from functools import cache

import jinja2
import pytest

from dbanon.sqltext import resources, templates


def change_template(monkeypatch: pytest.MonkeyPatch, name: str, old: str, new: str) -> None:
    """Replace one text in one template."""
    assert old in resources.sql(name), "the mutant no longer applies"
    wrapped = templates._templates.__wrapped__()
    real = resources.sql

    def read(template_name: str) -> str:
        return templates._keep_line_ends(
            real(template_name).replace(old, new) if template_name == name else real(template_name)
        )

    wrapped.loader = jinja2.FunctionLoader(read)
    monkeypatch.setattr(templates, "_templates", cache(lambda: wrapped))
