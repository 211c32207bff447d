"""Reads the text of a source argument: a dotted table name, quoted or not, or a file."""

import re

from dbanon.sqltext.tokenizer import tokens

_FILE = re.compile(r"\.(csv|tsv|txt|parquet|json|ndjson|jsonl)(\.(gz|zst))?$", re.IGNORECASE)


def table_parts(text: str) -> tuple[str, ...] | None:
    """Return one to three name parts (database, schema, table), or None if the text is no such name.

    >>> table_parts('clinic."odd name"')
    ('clinic', 'odd name')
    >>> table_parts('(SELECT 1)') is None
    True
    """
    found = tokens(text)
    parts, dots = found[::2], found[1::2]
    is_name = len(found) in (1, 3, 5) and all(dot.text == "." for dot in dots)
    is_name = is_name and all(p.kind in ("word", "quoted") and p.name and not p.is_unfinished for p in parts)
    return tuple(part.name for part in parts) if is_name else None


def read_parts(text: str) -> tuple[str, ...] | None:
    """Return the same of a table as DuckDB names one that a query reads, with an alias or a sample behind it.

    >>> read_parts('main.patients AS p')
    ('main', 'patients')
    """
    return table_parts(text[: next((token.start for token in tokens(text) if token.kind == "space"), None)])


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def folded(name: str) -> str:
    """Return a name as DuckDB's catalog compares it: ASCII letters in lower case, all others unchanged.

    >>> folded("Patients"), folded("ΠΕΛΑΤΕΣ") == folded("πελατες")
    ('patients', False)
    """
    return name.translate(_ASCII_LOWER)


_ENTRY = re.compile(r'\s*((?:"(?:[^"]|"")*"|[^",.])+)(?:\.((?:"(?:[^"]|"")*"|[^",.])+))?\s*(?:,|$)')


def path_entries(setting: str) -> list[tuple[str, ...]]:
    """Return entries of a search_path setting: (schema,) or (database, schema); names in it are not always quoted.

    >>> path_entries('memory.odd ward,main')
    [('memory', 'odd ward'), ('main',)]
    """
    found = []
    for match in _ENTRY.finditer(setting):
        parts = tuple(p.strip() for p in match.groups() if p is not None)
        found.append(tuple(p[1:-1].replace('""', '"') if p[:1] == '"' == p[-1:] else p for p in parts))
    return found


def is_file(text: str) -> bool:
    """Return whether the text ends like a file that DuckDB scans by name."""
    return _FILE.search(text) is not None


def file_ending(text: str) -> str:
    """Return the ending of such a text in lower case, without that of its compression; empty where it is none.

    >>> file_ending('Patients.CSV.gz')
    'csv'
    """
    match = _FILE.search(text)
    return match[1].lower() if match else ""


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def scheme(path: str) -> str | None:
    """Return the scheme of a name such as `s3://bucket/x.csv` in lower case; None for a path.

    >>> scheme('S3://bucket/x.csv'), scheme('C:/x.csv')
    ('s3', None)
    """
    match = _SCHEME.match(path)
    return match[1].lower() if match else None


def pattern(file: str) -> str:
    """Return the name of a file as the pattern that it alone fits, as functions that read files take it.

    >>> pattern('p[12]*.csv')
    'p[[]12][*].csv'
    """
    return re.sub(r"[*?\[]", r"[\g<0>]", file)
