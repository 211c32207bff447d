"""What profile() finds in the cells of messy files: codes that stand for missing values, dates and numbers that are
kept as text, blanks around values; and the statement that mends each.

A code is named in an answer only if it is one of the lists below: they are ours, not cells of the table. Texts are
converted only where every value has one form; else the answer says how many have not, and what lists them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePath

from dbanon.source import catalog
from dbanon.source.stored_policy import PolicyRow
from dbanon.sqltext import names
from dbanon.sqltext.quote import Sql, identifier, join_sql, literal_rows, qualified, text

_WORDS = (
    "na", "n/a", "n.a.", "n.a", "#n/a", "<na>", "nan", "null", "\\n", "nil", "n/k", "unk", "unknown", "not available",
    "not applicable", "not known", "not stated", "not recorded", "not specified", "missing", "undefined", "k.a.",
    "k. a.", "k.a", "keine angabe", "unbekannt", "inconnu", "desconocido", "desconhecido", "sconosciuto", "onbekend",
    "nieznany", "неизвестно", "不明", "未知", "불명",
)  # fmt: skip
_SIGNS = ("", "-", "--", "---", "–", "—", "?", "??", "???", ".", "..", "...")

TEXT_CODES = (*_SIGNS, *sorted({spelled for w in _WORDS for spelled in (w, w.upper(), w.capitalize(), w.title())}))
"""Texts that stand for a missing value, as they are spelled. `None` is none of them: it can be a finding."""

NUMBER_CODES = (
    *(10**digits - 1 - offset for digits in range(2, 10) for offset in (0, 1, 2)),
    *(-1, -2, -3, -7, -8, -9, -97, -98, -99, -998, -999, -9999, -99999, -999999),
)
"""Numbers that stand for a missing value where they are far from all others, or are the only negative ones."""

DATE_CODES = (
    "0001-01-01", "1111-11-11", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01",
    "1970-01-01", "2099-12-31", "2100-01-01", "2999-12-31", "3000-01-01", "9999-01-01", "9999-09-09", "9999-12-31",
)  # fmt: skip
"""Dates that do where they are far from all others."""

MIN_NUMBER_DISTANCE = 0.5
"""How far such a number lies beyond all others, as a share of their range."""

MIN_DATE_DISTANCE = 0.1
"""The same of a date."""

_BLANKS = "' ' || chr(9) || chr(10) || chr(13) || chr(160)"
"""What is cut off at both ends of a text."""

_TEXT = "{}"
"""Where the text goes in an expression that converts it."""


@dataclass(frozen=True)
class TextFormat:
    """A way to write dates or numbers as text.

    `reads` is a condition about a text without blanks around it, `made` the expression of its value in the type of the
    form, both with `{}` for the text. Forms of which one text can be two differ in their `order`; `twin` is the place
    of the other in FORMS, and `taken` says why this one is taken where every text can be both.
    """

    type: str
    description: str
    is_readable: str
    conversion: str
    field_order: str | None = None
    twin: int | None = None
    choice: str | None = None
    hint: str = ""

    @property
    def is_date(self) -> bool:
        """Whether it is one of dates."""
        return self.type in ("DATE", "TIMESTAMP")


def _date_format(format_: str, order: str | None = None, twin: int | None = None) -> TextFormat:
    """Return dates in a format of strptime."""
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
    """Forms of dates; where a text can be two, day before month comes first."""
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
    """Forms of numbers, the first of which stands at a place of FORMS."""

    def number_format(type_: str, suffix: str, pattern: str, conversion: str, **optional: object) -> TextFormat:
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


def _all_formats() -> tuple[TextFormat, ...]:
    is_readable, conversion = f"TRY_CAST({_TEXT} AS TIMESTAMP) IS NOT NULL", f"CAST({_TEXT} AS TIMESTAMP)"
    timestamps = TextFormat("TIMESTAMP", "dates and times as text", is_readable, conversion)
    dates = [*_date_formats(), timestamps]
    return (*dates, *_number_formats(len(dates)))


TEXT_FORMATS = _all_formats()
"""Of forms that read all values, and which no other column of the table tells apart, the first is taken."""


def repair_values() -> dict[str, object]:
    """What templates compare cells with."""
    field_of_column = {
        "type": "type",
        "said": "description",
        "reads": "is_readable",
        "made": "conversion",
        "twin": "twin",
        "taken": "choice",
        "hint": "hint",
    }
    column_types = {"shape": "INTEGER", "sequence": "VARCHAR"}
    column_types |= dict.fromkeys(field_of_column, "VARCHAR") | {"twin": "INTEGER"}
    rows = [
        [i, form.field_order, *(getattr(form, field) for field in field_of_column.values())]
        for i, form in enumerate(TEXT_FORMATS)
    ]
    return {
        "codes": join_sql(map(text, TEXT_CODES)),
        "longest": max(map(len, TEXT_CODES)),
        "numbers": join_sql(f"({n}, '{n}')" for n in NUMBER_CODES),
        "dates": join_sql(f"(epoch(TIMESTAMP '{d}'), '{d}')" for d in DATE_CODES),
        "far_number": Sql(str(MIN_NUMBER_DISTANCE)),
        "far_date": Sql(str(MIN_DATE_DISTANCE)),
        "trimmed": Sql(f"trim(value, {_BLANKS})"),
        "reads": [
            {"sql": Sql(form.is_readable.replace(_TEXT, "value")), "is_date": form.is_date} for form in TEXT_FORMATS
        ],
        "forms": literal_rows(column_types, rows),
    }


# --- statements ------------------------------------------------------------------------------------------


def repair_pieces(source: catalog.Source, declared: Iterable[PolicyRow]) -> Sql:
    """Rows of the pieces of the statements that mend a column: `words` is its text, `trimmed` that without blanks
    around it, `altered` the beginning of what changes its type, `padded` what cuts blanks off. Where the policy has a
    row of the column, `declared` and `declared_end` go around more codes; where it has codes, they are `held`, and
    `forgotten` takes them back, as no value is one of them any more when the column has another type."""
    rows = {source.spelled(row.declared.column): row for row in declared}
    piece_names = (
        "place",
        "plain",
        "words",
        "trimmed",
        "altered",
        "padded",
        "declared",
        "declared_end",
        "held",
        "forgotten",
    )
    pieces = []
    for place, (name, type_) in enumerate(source.columns.items()):
        column = identifier(name)
        words = column if type_ == "VARCHAR" else Sql(f"CAST({column} AS VARCHAR)")
        trimmed = f"trim({words}, {_BLANKS})"
        altered = f"ALTER TABLE {source.sql} ALTER COLUMN {column} TYPE "
        padded = f"{altered}VARCHAR USING {trimmed}"
        if type_ == "VARCHAR":
            padded = f"UPDATE {source.sql} SET {column} = {trimmed} WHERE {column} <> {trimmed}"
        row = rows.get(name)
        pieces.append(
            [place, column, words, trimmed, altered, padded, *(_code_pieces(source, row) if row else [None] * 4)]
        )
    return literal_rows(dict.fromkeys(piece_names, "VARCHAR") | {"place": "INTEGER"}, pieces)


def _code_pieces(source: catalog.Source, row: PolicyRow) -> list[str | None]:
    """What adds codes to a row of the policy, before and after them; its own codes, and what takes them back."""
    key = join_sql(text(part) for part in (row.schema_name, row.table_name, row.declared.column))
    codes = [text(code) for code in row.declared.settings.missing]
    update = f"UPDATE {qualified(source.home, catalog.SCHEMA, 'policy')} SET missing = "
    condition = f" WHERE (schema_name, table_name, column_name) = ({key})"
    existing_codes = [join_sql(codes), f"; {update}NULL{condition}"] if codes else [None, None]
    return [f"{update}[{''.join(f'{code}, ' for code in codes)}", f"]{condition}", *existing_codes]


def view_pieces(source: catalog.Source) -> dict[str, Sql]:
    """The statement that makes a view of what is no table, before and after its columns: nothing is replaced by it."""
    name = f"{PurePath(source.table).stem if names.is_file(source.shown) else source.table}_mended"
    is_local = source.sql == identifier(source.table)  # which a view of a database cannot read
    create = f"CREATE TEMP VIEW IF NOT EXISTS {identifier(name)}"
    if not is_local:
        place = (source.database, source.schema) if source.foreign is None else (source.home, "main")
        create = f"CREATE VIEW IF NOT EXISTS {qualified(*place, name)}"
    return {"head": text(f"{create} AS SELECT * REPLACE ("), "tail": text(f") FROM {source.sql}")}
