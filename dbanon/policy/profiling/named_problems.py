"""Problems for profile() that follow from names and types: parts of a date of birth, and categories as truth values."""

import itertools
import re
from collections.abc import Iterator

from dbanon.policy.column_names.category_names import is_category_name
from dbanon.policy.column_names.hints import split_words
from dbanon.source.catalog import Source
from dbanon.source.column_types import family
from dbanon.sqltext.quote import Sql, identifier, literal_rows, text

_BIRTH = re.compile(
    "birth|born|geburts?|naissance|nacimiento|nascimento|nascita|geboorte|urodzeni[ae]|fods?els?|fodelse|syntyma|"
    "рождени[яе]|народжен[ня]+|rozhdeniya|dogum|lahir|narozeni|szuletesi?|nasterii|γεννησησ?|出生|생년|출생"
)
"""Words for birth."""

_PART_WORDS = {
    "year": "year yr yyyy y jahr jahres annee ano anno jaar rok ar год року god yil yili tahun ev an 年 년",
    "month": "month mon mm m monat mois mes mese maand miesiac manad maned месяц місяць ay ayi bulan honap 月 월",
    "day": "day dd d tag jour dia giorno dag dzien paiva день gun gunu hari tanggal den nap zi 日 일",
}
"""Words for the parts of a date."""


def birth_part(name: str) -> str | None:
    """Return which part of a date of birth a column's name says: year, month or day; None for other names.

    >>> birth_part('year_of_birth'), birth_part('BirthMonth'), birth_part('Geburtstag'), birth_part('birth_date')
    ('year', 'month', 'day', None)
    """
    rest, n_births = _BIRTH.subn(" ", " ".join(split_words(name)))
    words = set(rest.split())
    parts = [part for part, part_words in _PART_WORDS.items() if words & set(part_words.split())]
    return parts[0] if n_births and len(parts) == 1 else None


def problem_rows(source: Source) -> Sql:
    """Return SQL rows (place, problem, repair) of problems that the names and types of a source's columns show.

    `place` is the position of the column in the source, from 0; `repair` is a statement, or NULL without one.
    """
    return literal_rows(
        {"place": "INTEGER", "problem": "VARCHAR", "repair": "VARCHAR"},
        [*_birth_parts(source), *_truth_values(source)],
    )


def _birth_parts(source: Source) -> Iterator[tuple[int, str, str | None]]:
    """Yield the problem that three columns are one date of birth, at the column of the year.

    Its statement replaces them by a column of dates; a source that is no table gets none.
    """
    columns: dict[str, list[str]] = {"year": [], "month": [], "day": []}
    for name, type_ in source.columns.items():
        part = birth_part(name) if family(type_)[0] in ("integer", "float", "decimal") or type_ == "VARCHAR" else None
        if part is not None:
            columns[part].append(name)
    if any(len(names) != 1 for names in columns.values()):
        return
    names = [columns[part][0] for part in ("year", "month", "day")]
    numbers = (f"CAST(TRY_CAST({identifier(name)} AS INTEGER) AS VARCHAR)" for name in names)
    date = f"""TRY_CAST({" || '-' || ".join(numbers)} AS DATE)"""
    problem = (
        f"year, month and day of birth are one date in three columns: {', '.join(names)}; one column replaces them, "
        "with NULL in place of what is no date"
    )
    if not source.is_table:
        yield (
            list(source.columns).index(names[0]),
            f"{problem}. Hint: compute it in the source: {date}",
            None,
        )
        return
    taken = {name.lower() for name in source.columns}
    candidates = itertools.chain(["birth_date"], (f"birth_date_{n}" for n in itertools.count(2)))
    new_column = identifier(next(name for name in candidates if name not in taken))
    statements = [
        f"ALTER TABLE {source.sql} ADD COLUMN {new_column} DATE",
        f"UPDATE {source.sql} SET {new_column} = {date}",
        *(f"ALTER TABLE {source.sql} DROP COLUMN {identifier(name)}" for name in names),
    ]
    yield list(source.columns).index(names[0]), problem, "; ".join(statements)


def _truth_values(source: Source) -> Iterator[tuple[int, str, str | None]]:
    """Yield the problem of columns of truth values whose names say categories, such as sex."""
    for place, (name, type_) in enumerate(source.columns.items()):
        if type_ == "BOOLEAN" and is_category_name(name):
            types = f"{text(name)}: 'VARCHAR'"
            yield (
                place,
                "truth values, but the name says categories: DuckDB reads F and T in a file as false and true. Hint: "
                f"read the file again with types = {{{types}}}, as dbanon init and anonymize do",
                None,
            )
