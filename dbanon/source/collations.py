"""Refuse columns whose collation treats different texts as equal: k and l would be computed on wrong counts."""

from collections.abc import Sequence
from typing import Any

from dbanon import errors
from dbanon.source.catalog import Source
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import identifier, join_sql

_VARIANTS = ("A", "á", "Á", "ａ")
"""Texts that a collation may treat as equal to 'a'."""


def refuse_equating(function: str, source: Source, columns: Sequence[str], cursor: Any) -> None:
    """Check that no text column among `columns` has a collation that equates different texts, such as NOCASE.

    DuckDB's catalog does not show the collation of a view's column, so a comparison asks for it; no row is read.
    Temporary relations, which only the caller's connection sees, are not checked. Nor are columns if the session's
    default collation itself equates texts.

    Raises:
        CollatedColumnError: A column has such a collation.
    """
    texts = [column for column in columns if source.columns.get(column) == "VARCHAR"]
    if not texts:
        return
    column_list = join_sql(f"{identifier(column)} AS c{i}" for i, column in enumerate(texts))
    comparisons = join_sql(
        " OR ".join(f"coalesce(max(c{i}), 'a') = '{variant}'" for variant in _VARIANTS) for i in range(len(texts))
    )
    usual = " OR ".join(f"coalesce(max(d), 'a') = '{variant}'" for variant in _VARIANTS)
    query = f"SELECT {comparisons}, {usual} FROM (SELECT {column_list}, ''::VARCHAR AS d FROM {source.sql} LIMIT 0)"
    try:
        *equating, is_usual = cursor.execute(qualify_builtins(query)).fetchall()[0]
    except Exception:  # a relation that only the caller sees
        return
    if is_usual:  # a setting of the session, which counts for no column
        return
    collated = [column for column, equates in zip(texts, equating, strict=True) if equates]
    if collated:
        raise errors.CollatedColumnError(function, source.shown, collated)
