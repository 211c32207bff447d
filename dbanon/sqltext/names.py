"""Parse names of tables, files and URLs."""

import re

from dbanon.sqltext.tokenizer import tokens

FILE_ENDINGS = (".csv", ".tsv", ".txt", ".parquet", ".json", ".ndjson", ".jsonl")
"""Endings of files of rows, which may be followed by that of a compression."""

_FILE_ENDING = re.compile(rf"\.({'|'.join(ending[1:] for ending in FILE_ENDINGS)})(\.(gz|zst))?$", re.IGNORECASE)


def table_parts(text: str) -> tuple[str, ...] | None:
    """Return the one to three parts of a table name (database, schema, table) without quotes; None if it is not a name.

    >>> table_parts('clinic."odd name"')
    ('clinic', 'odd name')
    >>> table_parts('(SELECT 1)') is None
    True
    """
    parts_and_dots = tokens(text)
    parts, dots = parts_and_dots[::2], parts_and_dots[1::2]
    is_name = len(parts_and_dots) in (1, 3, 5) and all(dot.text == "." for dot in dots)
    is_name = is_name and all(p.kind in ("word", "quoted") and p.name and not p.is_unfinished for p in parts)
    return tuple(part.name for part in parts) if is_name else None


def scanned_table_parts(text: str) -> tuple[str, ...] | None:
    """Return the parts of a table name as DuckDB reports it for a scan, ignoring an alias or a sample clause after it.

    The text up to the first space is read as by `table_parts`; None if it is not a name.

    >>> scanned_table_parts('main.patients AS p')
    ('main', 'patients')
    """
    return table_parts(text[: next((token.start for token in tokens(text) if token.kind == "space"), None)])


_ASCII_LOWER = {upper: upper + 32 for upper in range(ord("A"), ord("Z") + 1)}


def fold_case(name: str) -> str:
    """Return a name as DuckDB's catalog compares it: ASCII letters in lower case, other letters unchanged.

    >>> fold_case("Patients"), fold_case("ΠΕΛΑΤΕΣ") == fold_case("πελατες")
    ('patients', False)
    """
    return name.translate(_ASCII_LOWER)


_SEARCH_PATH_ENTRY = re.compile(r'\s*((?:"(?:[^"]|"")*"|[^",.])+)(?:\.((?:"(?:[^"]|"")*"|[^",.])+))?\s*(?:,|$)')


def display_name(schema: str, name: str) -> str:
    """Return the name of a table as messages show it: with its schema, unless that is `main`."""
    return name if schema == "main" else f"{schema}.{name}"


def search_path_entries(setting: str) -> list[tuple[str, ...]]:
    """Split the value of DuckDB's setting search_path into entries without quotes: (schema,) or (database, schema).

    >>> search_path_entries('memory.odd ward,main')
    [('memory', 'odd ward'), ('main',)]
    """
    entries = []
    for match in _SEARCH_PATH_ENTRY.finditer(setting):
        parts = tuple(p.strip() for p in match.groups() if p is not None)
        entries.append(tuple(p[1:-1].replace('""', '"') if p[:1] == '"' == p[-1:] else p for p in parts))
    return entries


def is_file(text: str) -> bool:
    """Return whether a text ends like the name of a file that DuckDB can scan, in any case.

    The endings are csv, tsv, txt, parquet, json, ndjson and jsonl, also followed by gz or zst. The file need not exist.
    """
    return _FILE_ENDING.search(text) is not None


def file_ending(text: str) -> str:
    """Return a file name's ending in lower case, without dot and compression; '' if DuckDB cannot scan such a file.

    >>> file_ending('Patients.CSV.gz')
    'csv'
    """
    match = _FILE_ENDING.search(text)
    return match[1].lower() if match else ""


_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


def url_scheme(path: str) -> str | None:
    """Return the scheme of a URL such as `s3://bucket/x.csv` in lower case, or None for a path without a scheme.

    >>> url_scheme('S3://bucket/x.csv'), url_scheme('C:/x.csv')
    ('s3', None)
    """
    match = _SCHEME.match(path)
    return match[1].lower() if match else None


def escape_glob(file: str) -> str:
    """Return a glob pattern that matches this file name only: `*`, `?` and `[` are put in brackets.

    >>> escape_glob('p[12]*.csv')
    'p[[]12][*].csv'
    """
    return re.sub(r"[*?\[]", r"[\g<0>]", file)
