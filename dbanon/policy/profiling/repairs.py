"""Find typical faults of messy files for profile(), with the statements that fix them.

These are codes for missing values, dates and numbers stored as text, and blanks around values.

A code is shown only if it is in one of the lists below, which are ours and not cells of the table. Texts are converted
only if every value has the same format; otherwise the result states how many do not, and how to list them.
"""

from collections.abc import Iterable
from pathlib import PurePath

from dbanon.policy.profiling import number_formats
from dbanon.policy.profiling.quantity_formats import QUANTITY_FORMATS
from dbanon.policy.profiling.text_format import TEXT_PLACEHOLDER as _TEXT, TextFormat
from dbanon.source import catalog
from dbanon.source.stored_policy import PolicyRow
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal_rows, qualified, text

_WORDS = (
    "na", "n/a", "n.a.", "n.a", "#n/a", "<na>", "nan", "null", "\\n", "nil", "n/k", "unk", "unknown",
    "not available", "not applicable", "not known", "not stated", "not recorded", "not specified", "missing",
    "undefined", "k.a.", "k. a.", "k.a", "keine angabe", "keine Angabe", "unbekannt", "inconnu", "desconocido",
    "desconhecido", "sconosciuto", "onbekend", "nieznany", "неизвестно", "不明", "未知", "불명", "not reported",
    "not collected", "no data", "no information", "no answer", "don't know", "nicht bekannt", "ohne angabe",
    "ohne Angabe", "non renseigné", "non renseigne", "non connu", "sin datos", "no consta", "não informado",
    "nao informado", "sem informação", "sem informacao", "non noto", "non disponibile", "niet bekend", "brak danych",
    "ikke oplyst", "uoplyst", "ukendt", "ukjent", "okänd", "uppgift saknas", "ei tietoa", "tuntematon", "нет данных",
    "не указано", "невідомо", "bilinmiyor", "tidak diketahui", "ismeretlen", "neznámé", "necunoscut", "άγνωστο",
    "không rõ", "غير معروف", "अज्ञात", "不詳", "不详", "미상",
)  # fmt: skip
_SIGNS = ("", "-", "--", "---", "–", "—", "?", "??", "???", ".", "..", "...", "*", "**", "***", "****", "#", "_", "/")

TEXT_CODES = (*_SIGNS, *sorted({spelled for w in _WORDS for spelled in (w, w.upper(), w.capitalize(), w.title())}))
"""Texts that mean a missing value, in their usual spellings. `None` is not one of them: it can be a finding."""

NUMBER_CODES = (
    *(10**digits - 1 - offset for digits in range(2, 10) for offset in (0, 1, 2)),
    *(-1, -2, -3, -7, -8, -9, -66, -77, -88, -96, -97, -98, -99, -666, -777, -888, -996, -997, -998, -999),
    *(-7777, -8888, -9997, -9998, -9999, -99999, -999999),
)
"""Numbers that mean a missing value if they are far from all others, or are the only negative ones."""

CODE_PATTERNS = tuple(
    pattern
    for digits in range(2, 6)
    for pattern in (
        tuple(int(str(digit) * digits) for digit in (6, 7, 8, 9)),
        tuple(10**digits - n for n in (4, 3, 2, 1)),
    )
)
"""Numbers that questionnaires use together, such as 66, 77, 88, 99 and 96, 97, 98, 99: two or more of them mean missing
values if they are the greatest numbers of a column and nothing is between and near them.
"""

MIN_PATTERN_STEPS = 5
"""Minimum distance of such numbers from the others, in mean distances between the others."""

MAX_PATTERN_PROBABILITY = 1e-4
"""Maximum probability that records beyond all others have only such numbers by chance."""

DATE_CODES = (
    "0001-01-01", "1111-11-11", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01",
    "1970-01-01", "2099-12-31", "2100-01-01", "2999-12-31", "3000-01-01", "9999-01-01", "9999-09-09", "9999-12-31",
)  # fmt: skip
"""Dates that mean a missing value if they are far from all others."""

MIN_NUMBER_DISTANCE = 0.5
"""Minimum distance of such a number from all others, as a share of their range."""

MIN_DATE_DISTANCE = 0.1
"""Minimum distance of such a date from all others, as a share of their range."""

_BLANKS = "' ' || chr(9) || chr(10) || chr(13) || chr(160)"
"""Characters that are removed at both ends of a text."""


def _date_format(format_: str, order: str | None = None, twin: int | None = None) -> TextFormat:
    """Return the format of dates or timestamps that a format string of strptime describes.

    It is one of timestamps if the string contains an hour. Years must have four digits after conversion.

    Args:
        format_: The format string.
        order: `day` or `month`, which comes first, for one of two formats that can read the same text; else None.
        twin: The index of the other one in TEXT_FORMATS; None without one.
    """
    type_ = "TIMESTAMP" if "%H" in format_ else "DATE"
    choice = None
    if twin is not None:
        field_order = "day before month, as most countries write" if order == "day" else "month before day"
        choice = f"ambiguous, as no number is above 12: taken as {field_order}"
    parsed = f"try_strptime({_TEXT}, {text(format_)})"
    hint = "two digits of a year are read as 1969 to 2068" if "%y" in format_ else ""
    conversion = f"CAST(strptime({_TEXT}, {text(format_)}) AS {type_})"
    is_readable = f"coalesce(year({parsed}) BETWEEN 1000 AND 9999, false)"
    return TextFormat(type_, f"dates as text, {format_}", is_readable, conversion, order, twin, choice, hint)


def _date_formats() -> list[TextFormat]:
    """Return the formats of dates and timestamps; of two that read the same text, day before month comes first."""
    formats: list[TextFormat] = []
    for time in ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S"):
        formats += [_date_format(f"%Y{separator}%m{separator}%d{time}") for separator in ("-" if time else "-/.")]
        for year in ("%Y",) if time[:1] == " " else ("%Y", "%y") if not time else ():
            formats.append(_date_format(f"%d.%m.{year}{time}"))
            for separator in "/-":
                index = len(formats)
                formats.append(_date_format(f"%d{separator}%m{separator}{year}{time}", "day", index + 1))
                formats.append(_date_format(f"%m{separator}%d{separator}{year}{time}", "month", index))
    month_name_formats = ("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y", "%d. %B %Y", "%d-%b-%y")
    return [*formats, *map(_date_format, month_name_formats)]


def _number_formats(first_index: int) -> list[TextFormat]:
    """Return the formats of numbers; `first_index` is the index of the first one in TEXT_FORMATS."""

    def number_format(type_: str, suffix: str, pattern: str, conversion: str, **optional: object) -> TextFormat:
        """Return a format of numbers as text.

        Args:
            type_: The DuckDB type of the values.
            suffix: Completes the description "numbers as text".
            pattern: The regular expression of the texts.
            conversion: SQL of the text that is cast to the type, with `{}` for the text.
            **optional: Further fields of TextFormat.
        """
        is_readable = f"regexp_full_match({_TEXT}, {text(pattern)})"
        conversion = f"CAST({conversion} AS {type_})"
        return TextFormat(type_, f"numbers as text{suffix}", is_readable, conversion, **optional)  # type: ignore[arg-type]

    integer = r"(0|[1-9]\d*)"
    exponent = r"([eE][+-]?\d{1,2})?"
    ambiguous = "ambiguous, as three digits follow every {}: taken as {}"
    return [
        number_format(
            "BIGINT", "", r"[+-]?(0|[1-9]\d{0,17})", _TEXT, hint="leave them if they are codes and no quantities"
        ),
        number_format(
            "DOUBLE",
            "",
            rf"[+-]?({integer}(\.\d*)?|\.\d+){exponent}",
            _TEXT,
            field_order="point",
            twin=first_index + 3,
            choice=ambiguous.format("point", "decimals"),
        ),
        number_format(
            "DOUBLE",
            " with commas between thousands",
            rf"[+-]?([1-9]\d{{0,2}}(,\d{{3}})+|{integer})(\.\d+)?",
            f"replace({_TEXT}, ',', '')",
            field_order="point",
            twin=first_index + 3,
            choice=ambiguous.format("comma", "thousands, not as decimals"),
        ),
        number_format(
            "DOUBLE",
            " with decimal commas",
            rf"[+-]?([1-9]\d{{0,2}}(\.\d{{3}})+|{integer})(,\d+)?",
            f"replace(replace({_TEXT}, '.', ''), ',', '.')",
            field_order="comma",
            twin=first_index + 2,
            choice=ambiguous.format("comma or point", "decimals after commas"),
        ),
    ]


def _partial_and_compact_dates() -> list[TextFormat]:
    """Return the formats of dates without a day, such as 1987-05-00, and of dates without separators."""
    return [
        TextFormat(
            "VARCHAR",
            "partial dates, %Y-%m-%d with 00 for what is unknown",
            rf"regexp_full_match({_TEXT}, '(18[5-9]|19\d|20\d|21[0-5])\d-(00-00|(0[1-9]|1[0-2])-([0-2]\d|3[01]))')",
            f"regexp_replace({_TEXT}, '(-00)+$', '')",
            hint=number_formats.PARTIAL_DATES_HINT,
            is_partial_date=True,
        ),
        TextFormat(
            "DATE",
            "dates as text, %Y%m%d",
            rf"CASE WHEN regexp_full_match({_TEXT}, '(18[5-9]|19\d|20\d|21[0-5])\d{{5}}') "
            f"THEN try_strptime({_TEXT}, '%Y%m%d') IS NOT NULL ELSE false END",
            f"CAST(strptime({_TEXT}, '%Y%m%d') AS DATE)",
            is_plain=True,
        ),
    ]


def _all_formats() -> tuple[TextFormat, ...]:
    """Return all formats: dates, timestamps as DuckDB casts them, numbers, then numbers with more text."""
    is_readable, conversion = f"TRY_CAST({_TEXT} AS TIMESTAMP) IS NOT NULL", f"CAST({_TEXT} AS TIMESTAMP)"
    timestamps = TextFormat("TIMESTAMP", "dates and times as text", is_readable, conversion)
    dates = [*_date_formats(), timestamps, *_partial_and_compact_dates()]
    return (*dates, *_number_formats(len(dates)), *QUANTITY_FORMATS)


TEXT_FORMATS = _all_formats()
"""The first format that reads all values of a column is chosen, unless other columns of the table decide between twins.
"""


def repair_values() -> dict[str, object]:
    """Return the template values of the codes for missing values and the formats of texts that profile() looks for."""
    field_of_column = {
        "type": "type",
        "description": "description",
        "condition": "is_readable",
        "conversion": "conversion",
        "twin": "twin",
        "choice": "choice",
        "hint": "hint",
    }
    column_types = {"format_id": "INTEGER", "field_order": "VARCHAR"}
    column_types |= dict.fromkeys(field_of_column, "VARCHAR") | {"twin": "INTEGER"}
    rows = [
        [i, form.field_order, *(getattr(form, field) for field in field_of_column.values())]
        for i, form in enumerate(TEXT_FORMATS)
    ]
    return {
        "codes": literal_rows({"code": "VARCHAR"}, [[code] for code in TEXT_CODES]),
        "longest": max(map(len, TEXT_CODES)),
        "numbers": _value_rows(f"({n}, '{n}')" for n in NUMBER_CODES),
        "patterns": _value_rows(f"({i}, {n}, '{n}')" for i, pattern in enumerate(CODE_PATTERNS) for n in pattern),
        "pattern_steps": MIN_PATTERN_STEPS,
        "pattern_probability": Sql(f"{MAX_PATTERN_PROBABILITY:f}"),
        "dates": _value_rows(f"(epoch(TIMESTAMP '{d}'), '{d}')" for d in DATE_CODES),
        "far_number": Sql(str(MIN_NUMBER_DISTANCE)),
        "far_date": Sql(str(MIN_DATE_DISTANCE)),
        "trimmed": Sql(f"trim(value, {_BLANKS})"),
        "reads": [
            {
                "sql": Sql(form.is_readable.replace(_TEXT, "value")),
                "sign": Sql(form.sign.replace(_TEXT, "value")),
                "is_date": not form.is_plain and (form.is_date or form.is_partial_date),
            }
            for form in TEXT_FORMATS
        ],
        "forms": literal_rows(column_types, rows),
    }


def _value_rows(rows: Iterable[str]) -> Sql:
    """Return a VALUES clause that has one row per line; `rows` are SQL in parentheses."""
    return Sql("VALUES\n        " + ",\n        ".join(rows))


# --- statements ------------------------------------------------------------------------------------------


def repair_pieces(source: catalog.Source, declared: Iterable[PolicyRow]) -> Sql:
    """Return SQL rows, one per column of the source, of the parts of the statements that repair it.

    Args:
        source: The source.
        declared: Its policy rows.

    Returns:
        A relation. Columns: `place` is the column's position, `quoted_name` its name, `cell_text` SQL of its text,
        `trimmed_text` the text without blanks around it, `type_change` the beginning of the statement that changes its
        type, `blank_removal` the statement that removes blanks. If the policy has a row of the column,
        `declaration_start` and `declaration_end` are the parts of a statement before and after new codes for missing
        values, else NULL. If that row has codes, `existing_codes` has them and `code_removal` is the statement that
        removes them (after a change of the type no value equals them), else both are NULL.
    """
    rows = {source.spelled(row.column): row for row in declared}
    piece_names = (
        "place",
        "quoted_name",
        "cell_text",
        "trimmed_text",
        "type_change",
        "blank_removal",
        "declaration_start",
        "declaration_end",
        "existing_codes",
        "code_removal",
    )
    pieces = []
    for place, (name, type_) in enumerate(source.columns.items()):
        column = identifier(name)
        cell_text = column if type_ == "VARCHAR" else Sql(f"CAST({column} AS VARCHAR)")
        trimmed = f"trim({cell_text}, {_BLANKS})"
        type_change = f"ALTER TABLE {source.sql} ALTER COLUMN {column} TYPE "
        blank_removal = f"{type_change}VARCHAR USING {trimmed}"
        if type_ == "VARCHAR":
            blank_removal = f"UPDATE {source.sql} SET {column} = {trimmed} WHERE {column} <> {trimmed}"
        row = rows.get(name)
        pieces.append(
            [place, column, cell_text, trimmed, type_change, blank_removal] + (_code_pieces(row) if row else [None] * 4)
        )
    return literal_rows(dict.fromkeys(piece_names, "VARCHAR") | {"place": "INTEGER"}, pieces)


def _code_pieces(row: PolicyRow) -> list[str | None]:
    """Return four parts of the statements that add codes for missing values to a policy row and remove them.

    They are the statement before and after the new codes, the existing codes, and the statement that removes them. The
    latter two are None if the row has no codes.
    """
    codes = [text(code) for code in row.settings.missing_codes]
    update = f"UPDATE {row.policy_table} SET missing_codes = "
    existing_codes = [join_sql(codes), f"; {update}NULL WHERE {row.condition}"] if codes else [None, None]
    return [f"{update}[{''.join(f'{code}, ' for code in codes)}", f"] WHERE {row.condition}", *existing_codes]


def view_pieces(source: catalog.Source) -> dict[str, Sql]:
    """Return SQL texts of the statement that creates a repaired view of the source.

    `head` is the part before its columns, `tail` the part after them. The view is named like the source with `_mended`,
    replaces nothing, and is temporary if the source is a temporary relation. The statement is meant for a source that
    is not a table.
    """
    name = f"{PurePath(source.table).stem if names.is_file(source.shown) else source.table}_mended"
    is_local = source.sql == identifier(source.table)  # a view in a database cannot read it
    create = f"CREATE TEMP VIEW IF NOT EXISTS {identifier(name)}"
    if not is_local:
        place = (source.database, source.schema) if source.foreign is None else (source.home, "main")
        create = f"CREATE VIEW IF NOT EXISTS {qualified(*place, name)}"
    return {"head": text(f"{create} AS SELECT * REPLACE ("), "tail": text(f") FROM {source.sql}")}
