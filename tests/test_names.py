"""Names and docstrings are understandable without knowing the code (CONTRIBUTING.md, "Names and sentences")."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "dbanon"

BARE = re.compile(
    "asked|told|given|made|met|held|said|dealt|found|drawn|taken|kept|shown|chosen|left|known|tried|joined|raised|judged|"
    "missed|carried|placed|named|noted|warned|linked|grown|covered|picked|gone|lost|worn|heard|seen|settled|apart|"
    "beneath|beside|before|after|among|own|of|by|at|on|to|from|within|there|here|once|again|whole|many|few|some|every|"
    "each|most|least|more|less|else|alike|who|whom|what|which|where|data|info|item|obj|tmp|stuff|misc|util"
)
"""Names without a meaning of their own: participles, prepositions and quantifiers."""

PHRASES = re.compile(
    r"\b(who(?:so)?ever|beside|tells?|told|stands?(?! out| alone| for)|anew|alike|as though|nobody|everybody|left out|"
    r"leaves? out|at last|mends?|mended)\b|\b(?:[Aa]|[Oo]ne) (?:row|line|file|record|word|column) an? [a-z]+\b"
)
"""Words that a native reader stumbles over, and "a row per class" for "one row per class"."""

RELATIVE = re.compile(r"(What|Who|Whom|How|Where|Which|When|That|The same)\b")

MAX_BARE = {"function": 0.03, "parameter": 0.05, "variable": 0.03, "attribute": 0.03}

MAX_RELATIVE = 0.01

MAX_PHRASES = 0.001


PACKAGES = sorted(path.name for path in PACKAGE.iterdir() if path.is_dir() and any(path.glob("*.py")))


def modules(package: str) -> Iterator[tuple[Path, str, ast.Module]]:
    """Yield path, text and syntax tree of every module of a package."""
    for path in sorted((PACKAGE / package).rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield path, text, ast.parse(text)


def names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """Yield the kind and the name of everything that a syntax tree defines."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            yield "function", node.name
            arguments = node.args
            yield from (("parameter", a.arg) for a in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield "variable", node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield "attribute", node.attr
        elif isinstance(node, ast.ClassDef):
            fields = (part.target for part in node.body if isinstance(part, ast.AnnAssign))
            yield from (("attribute", field.id) for field in fields if isinstance(field, ast.Name))


def docstrings(tree: ast.AST) -> Iterator[str]:
    """Yield the docstrings of modules, classes and functions."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (text := ast.get_docstring(node)):
            yield text


def comments(text: str) -> Iterator[str]:
    """Yield the comments of a module."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.string


@pytest.mark.all_cases
@pytest.mark.parametrize("package", PACKAGES)
def test_names_are_nouns_or_verbs(package: str) -> None:
    total: Counter[str] = Counter()
    bare_counts_by_kind: dict[str, Counter[str]] = {kind: Counter() for kind in MAX_BARE}
    for _, _, tree in modules(package):
        for kind, name in names(tree):
            total[kind] += 1
            bare_counts_by_kind[kind][name] += BARE.fullmatch(name.strip("_")) is not None
    for kind, share in MAX_BARE.items():
        result = +bare_counts_by_kind[kind]
        assert result.total() <= share * total[kind] + 1, (kind, result.most_common(20))


@pytest.mark.all_cases
@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_start_with_verb_or_noun(package: str) -> None:
    texts = [text for _, _, tree in modules(package) for text in docstrings(tree)]
    relative = [text.splitlines()[0] for text in texts if RELATIVE.match(text)]
    assert len(relative) <= MAX_RELATIVE * len(texts), relative


@pytest.mark.all_cases
@pytest.mark.parametrize("package", PACKAGES)
def test_docstrings_and_comments_are_plain_english(package: str) -> None:
    texts = [t for _, text, tree in modules(package) for t in (*docstrings(tree), *comments(text))]
    plain_values = [re.sub(r"`[^`]*`", "", text) for text in texts]
    counts = Counter(match[0] for text in plain_values for match in PHRASES.finditer(text))
    words = sum(len(text.split()) for text in plain_values)
    assert counts.total() <= MAX_PHRASES * words + 1, counts.most_common()


def test_class_names_are_unique() -> None:
    classes: dict[str, list[str]] = {}
    for package in PACKAGES:
        for path, _, tree in modules(package):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    classes.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}
