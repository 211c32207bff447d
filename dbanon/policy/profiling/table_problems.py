"""Problems of values that profile() finds by comparing the records of a table, with the statements that repair them.

These are dates of mixed precision, spellings of one value in a sensitive column, rows of totals, and dates of birth
whose two-digit years were read as the wrong century. The template is sql/policy/profiling/table_problems.sql.
"""

import itertools
from collections.abc import Iterable, Mapping
from typing import Any

from dbanon.policy.checks import spellings
from dbanon.policy.column_names import date_words
from dbanon.policy.profiling import thresholds
from dbanon.policy.profiling.suggestions import CALENDAR_LEVELS, PARTIAL_DATE
from dbanon.source import catalog
from dbanon.source.column_types import CALENDAR_FAMILIES, family
from dbanon.source.stored_policy import PolicyRow
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal_rows, qualified, text

_TOTALS = (
    "total", "totals", "grand total", "sum", "sums", "all", "overall", "subtotal", "total general", "gesamt",
    "gesamtsumme", "summe", "insgesamt", "alle", "total général", "somme", "ensemble", "tous", "suma", "todos",
    "total geral", "soma", "totale", "somma", "totaal", "som", "razem", "ogółem", "łącznie", "totalt", "summa",
    "sammanlagt", "i alt", "ialt", "yhteensä", "celkem", "spolu", "összesen", "σύνολο", "итого", "всего", "сумма",
    "разом", "усього", "ukupno", "skupaj", "общо", "toplam", "genel toplam", "jumlah", "tổng", "tổng cộng", "รวม",
    "合計", "総計", "合计", "总计", "總計", "합계", "총계", "المجموع", "الإجمالي", "कुल", "योग",
)  # fmt: skip

TOTAL_WORDS = tuple(
    sorted({f"{w}{end}" for word in _TOTALS for w in (word, word.upper(), word.capitalize(), word.title())
            for end in ("", ":")})
)  # fmt: skip
"""Texts that mark a row of totals, in their usual spellings."""

MAX_TOTAL_DIFFERENCE = 1e-6
"""Maximum difference between a total and the sum of the other numbers, as a share of the total."""

MAX_SPELLED_VALUES = 50_000
"""Maximum distinct values of a column whose spellings profile() compares; policy_problems() compares all."""


def _birth_and_other_dates(source: catalog.Source) -> tuple[list[str], list[str]]:
    """Return the columns of dates and timestamps without a time zone: those whose names say birth, and all others."""
    dates = [
        name
        for name, type_ in source.columns.items()
        if family(type_)[0] in CALENDAR_FAMILIES and type_ != "TIMESTAMP WITH TIME ZONE"
    ]
    births = [name for name in dates if date_words.is_birth_name(name)]
    return births, [name for name in dates if name not in births]


def template_values(source: catalog.Source) -> dict[str, Any]:
    """Return the template values that do not depend on the rows of the policy."""
    births, other_dates = _birth_and_other_dates(source)
    return {
        "partial_date": text(PARTIAL_DATE),
        "spelling": spellings.NORMALIZED_SPELLING,
        "words": literal_rows({"word": "VARCHAR"}, [[word] for word in TOTAL_WORDS]),
        "total_difference": Sql(f"{MAX_TOTAL_DIFFERENCE:f}"),
        "nearly_all": Sql(str(thresholds.NEARLY_ALL_SHARE)),
        "other_dates": other_dates,
        "births": births,
        "max_values": MAX_SPELLED_VALUES,
    }


def repair_pieces(source: catalog.Source, declared: Iterable[PolicyRow], hierarchies: Iterable[str]) -> Sql:
    """Return SQL rows, one per column of the source, of the statements that repair these problems.

    Args:
        source: The source.
        declared: Its policy rows.
        hierarchies: The names of all hierarchies; the calendar of a column gets another name.

    Returns:
        A relation. Columns: `place` is the column's position, `calendar` stores a calendar hierarchy and names it in
        the policy row of the column, if there is one, `one_spelling` replaces rare spellings of a value, `deletion`
        is the beginning of the statement that deletes rows with a text, `century` moves dates by 100 years. The last
        three are NULL for a source that is not a table.
    """
    rows = {str(source.spelled(row.column)): row for row in declared}
    names = frozenset(hierarchies)
    births, others = _birth_and_other_dates(source)
    pieces = []
    for place, (name, type_) in enumerate(source.columns.items()):
        column = identifier(name)
        changes: list[str | None] = [None, None, None]
        if source.is_table:
            limits = join_sql(["get_current_timestamp()::TIMESTAMP", *(f"{identifier(n)}::TIMESTAMP" for n in others)])
            changes = [
                spellings.unify_statement(source.sql, name) if type_ == "VARCHAR" else None,
                f"DELETE FROM {source.sql} WHERE {column} = " if type_ == "VARCHAR" else None,
                f"UPDATE {source.sql} SET {column} = CAST({column} - INTERVAL 100 YEAR AS {type_}) "
                f"WHERE CAST({column} AS TIMESTAMP) > least({limits})"
                if name in births
                else None,
            ]
        calendar = _calendar_statement(source, name, rows, names) if type_ == "VARCHAR" else None
        pieces.append([place, calendar, *changes])
    columns = dict.fromkeys(("place", "calendar", "one_spelling", "deletion", "century"), "VARCHAR")
    return literal_rows(columns | {"place": "INTEGER"}, pieces)


def _calendar_statement(
    source: catalog.Source, column: str, rows: Mapping[str, PolicyRow], hierarchies: frozenset[str]
) -> str:
    """Return the statement that stores a calendar of a column; a second one names it in the policy row, if any."""
    longest = f"{source.table} {column} dates"
    candidates = itertools.chain(
        (column, f"{source.table} {column}", longest), (f"{longest} {n}" for n in itertools.count(2))
    )
    name = next(n for n in candidates if n not in hierarchies)
    levels = join_sql(map(text, CALENDAR_LEVELS))
    statement = (
        f"INSERT INTO {qualified(source.home, catalog.SCHEMA, 'hierarchy')} FROM hierarchy_dates({text(name)}, "
        f"{text(source.sql)}, {text(column)}, levels := [{levels}])"
    )
    if (row := rows.get(column)) is None:
        return statement
    return f"{statement}; UPDATE {row.policy_table} SET hierarchy = {text(name)} WHERE {row.condition}"
