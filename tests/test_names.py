"""Names and docstrings are understandable without knowing the code (CONTRIBUTING.md, "Names and sentences")."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
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
    r"\b(who(?:so)?ever|beside|tells?|told|stands?(?! out| alone| for)|anew|alike|as though|as it were|nobody|"
    r"everybody|left out|leaves? out|at last|by and by|meanwhile|mends?|mended|hangs? (?:together|on)|"
    r"(?:come|comes|came|go|goes|went|gone) (?:out|in|away|along|about|by)|"
    r"what (?:leaves|goes|comes|waits|stays|is left)|hold(?:s|ing)? [^.;]{0,40}\bagainst)\b|"
    r"\b(?:[Aa]|[Oo]ne) (?:row|line|file|record|word|message|page|column|table) an? [a-z]+\b"
)
"""Words that a native reader stumbles over, and "a row per class" for "one row per class"."""

YOU = re.compile(r"\b(?:you|yours?)\b", re.IGNORECASE)
"""Words that address the reader."""

RELATIVE = re.compile(r"(What|Who|Whom|How|Where|Which|When|That|The same)\b")

MAX_BARE = {"function": 0.03, "parameter": 0.05, "variable": 0.03, "attribute": 0.03}

MAX_RELATIVE = 0.01

MAX_PHRASES = 0.001

MIN_YOU = 0.004

MIN_MESSAGE_WORDS = 5
"""Shorter texts are names and parts of SQL."""


ROOT = PACKAGE.parent
PAGES = [ROOT / "README.md", *sorted(path for path in (ROOT / "docs").rglob("*.md") if "manual" not in path.parts)]
"""The pages that are written by hand."""

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


def messages(tree: ast.Module) -> Iterator[str]:
    """Yield the texts of a module that a user may see: those of several words that are neither docstrings nor SQL."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first_statements = [node.body[0] for node in ast.walk(tree) if isinstance(node, documented) and node.body]
    doc_nodes = {statement.value for statement in first_statements if isinstance(statement, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in doc_nodes:
            is_sql = re.search(r"\b(SELECT|FROM|CREATE|WHERE|STRUCT)\b", node.value[:60]) is not None
            if len(node.value.split()) >= MIN_MESSAGE_WORDS and not is_sql:
                yield node.value


def sql_comments(text: str) -> Iterator[str]:
    """Yield the comments of a SQL template."""
    for match in re.finditer(r"\{#.*?#\}|--[ \t][^\n]*", text, re.DOTALL):
        yield match[0]


def count_phrases(texts: Iterable[str]) -> tuple[Counter[str], int]:
    """Return how often each of PHRASES occurs, and the number of words; text in backquotes does not count."""
    plain_texts = [re.sub(r"`[^`]*`", "", text) for text in texts]
    counts = Counter(match[0] for text in plain_texts for match in PHRASES.finditer(re.sub(r"\s+", " ", text)))
    return counts, sum(len(text.split()) for text in plain_texts)


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
    counts, words = count_phrases(t for _, text, tree in modules(package) for t in (*docstrings(tree), *comments(text)))
    assert counts.total() <= MAX_PHRASES * words + 1, counts.most_common()


@pytest.mark.all_cases
@pytest.mark.parametrize("package", PACKAGES)
def test_messages_are_plain_english(package: str) -> None:
    counts, words = count_phrases(text for _, _, tree in modules(package) for text in messages(tree))
    assert counts.total() <= MAX_PHRASES * words + 1, counts.most_common()


def test_comments_in_sql_are_plain_english() -> None:
    templates = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "sql").rglob("*.sql"))]
    counts, words = count_phrases(comment for text in templates for comment in sql_comments(text))
    assert words > 10_000 and counts.total() <= MAX_PHRASES * words, counts.most_common()


def page_lines(path: Path) -> Iterator[str]:
    """Yield the lines of a page that are no code."""
    is_code = False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.lstrip().startswith(("```", "~~~")):
            is_code = not is_code
        elif not is_code:
            yield line


def test_pages_are_plain_english() -> None:
    counts, words = count_phrases("\n".join(page_lines(path)) for path in PAGES)
    assert words > 20_000 and counts.total() <= MAX_PHRASES * words, counts.most_common()


def test_guides_address_reader() -> None:
    guides = [path for path in PAGES if path.stem in ("README", "index", "tutorial") or path.parent.name == "how-to"]
    text = "\n".join(line for path in guides for line in page_lines(path))
    assert len(YOU.findall(text)) >= MIN_YOU * len(text.split())


def test_class_names_are_unique() -> None:
    classes: dict[str, list[str]] = {}
    for package in PACKAGES:
        for path, _, tree in modules(package):
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    classes.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in classes.items() if len(paths) > 1} == {}
