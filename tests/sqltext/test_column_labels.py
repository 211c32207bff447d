"""The names that statements give to the columns of the user's table."""

from __future__ import annotations

import re

import pytest

from dbanon.sqltext import resources
from dbanon.sqltext.column_labels import FIXED_NAMES, column_label, column_reference, derived_reference
from dbanon.sqltext.names import fold_case

FOLDERS = (
    "audit",
    "release",
    "gate",
    "privacy_models",
    "ledger",
    "views",
    "publishing",
    "integrations/spark",
    "shared",
)
"""Folders of templates whose statements have columns named after those of the user."""

_COMMENT = re.compile(r"\{#.*?#\}|^\s*--.*?$", re.DOTALL | re.MULTILINE)
_ALIAS = re.compile(r"\bAS ([a-z_]\w*)(?!\w|\{\{)")
_CTE = re.compile(r"([a-z_]\w*) AS (?:(?:NOT )?MATERIALIZED )?\(")


def template_words() -> set[str]:
    """Return the aliases and CTE names that are plain words in templates."""
    words: set[str] = set()
    for folder in FOLDERS:
        for path in sorted((resources.folder("sql") / folder).rglob("*.sql")):
            template = _COMMENT.sub("", path.read_text("utf-8"))
            words |= {*_ALIAS.findall(template), *_CTE.findall(template)}
    return words


def test_fixed_names_equal_words_of_templates() -> None:
    words = template_words()
    missing, superfluous = sorted(words - FIXED_NAMES), sorted(FIXED_NAMES - words)
    assert not missing, f"add to FIXED_NAMES: {' '.join(missing)}"
    assert not superfluous, f"remove from FIXED_NAMES: {' '.join(superfluous)}"


NAMES = [
    "age", "size", "size (COLUMN)", "Size (column) (column)", "age: code", "age: code (column)",
    "age: code: code", "age:", ": code", "", " ", "code", "dbanon row", "DBANON source", 'it\'s "x"; {q}',
    "a\nb", "Ä", "ä",
]  # fmt: skip


def test_labels_of_unequal_columns_unequal() -> None:
    steps = ("code", "low", "published")
    labels = [fold_case(column_label(name)) for name in NAMES]
    derived = [fold_case(derived_reference(step, name)[1:-1].replace('""', '"')) for name in NAMES for step in steps]
    assert len({*labels, *derived, *FIXED_NAMES}) == len(labels) + len(derived) + len(FIXED_NAMES)


@pytest.mark.parametrize(
    ("name", "label"),
    [("age", '"age"'), ("SIZE", '"SIZE (column)"'), ('a "b"', '"a ""b"""'), ("dbanon row", '"dbanon row (column)"')],
)
def test_column_reference_quotes_label(name: str, label: str) -> None:
    assert column_reference(name) == label


def test_chains_of_steps_in_comments_name_existing_steps() -> None:
    templates = {path: path.read_text("utf-8") for path in sorted(resources.folder("sql").rglob("*.sql"))}
    existing = {name for template in templates.values() for name in _CTE.findall(_COMMENT.sub("", template))}
    derived_name = re.compile(r'"\w+: [\w ]+"')
    for path, template in templates.items():
        for comment in re.findall(r"\{#-?(.*?)-?#\}", template, re.DOTALL):
            sentences = re.split(r"[:.,;](?:\s|$)", derived_name.sub("", comment))
            for chain in (sentence for sentence in sentences if "->" in sentence and "->>" not in sentence):
                steps = {step.split()[-1] for step in chain.split("->") if len(step.split()) == 1}
                assert steps <= existing, f"{path.name}: no step has the name {', '.join(sorted(steps - existing))}"
