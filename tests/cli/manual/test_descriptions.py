"""The manual describes algorithms, functions and parameters in sentences."""

from __future__ import annotations

import re

import pytest

from dbanon.algorithms import algorithms
from dbanon.algorithms.base.registry import FAMILIES, Algorithm
from dbanon.cli.manual import function_page
from dbanon.table_functions import scalar_functions
from dbanon.table_functions.registry import table_functions

SENTENCES = re.compile(r'^["A-Z`].*\.$', re.DOTALL)
VERB = re.compile(r"(?:^|\. )(?:Returns|Lists|Compares|Replays) ")


@pytest.mark.parametrize("algorithm", algorithms(), ids=lambda a: a.name)
def test_algorithm_summary_is_sentence_and_in_manual(algorithm: Algorithm) -> None:
    assert SENTENCES.match(algorithm.summary), algorithm.summary
    page = function_page.page(algorithm.name)
    assert function_page.escape_markdown(algorithm.summary) in page


def test_family_ideas_are_sentences() -> None:
    assert [family.idea for family in FAMILIES.values() if not SENTENCES.match(family.idea)] == []


def test_function_descriptions_start_with_verb() -> None:
    functions = [*table_functions().values(), *scalar_functions.FUNCTIONS]
    assert [f.name for f in functions if not (VERB.search(f.doc) and f.doc.endswith("."))] == []


def test_parameter_descriptions_end_with_period() -> None:
    parameters = {p.name: p.doc for f in table_functions().values() for p in f.parameters}
    assert [name for name, doc in parameters.items() if not doc.endswith(".")] == []
