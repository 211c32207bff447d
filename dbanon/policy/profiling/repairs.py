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

CODES = (*_SIGNS, *sorted({spelled for w in _WORDS for spelled in (w, w.upper(), w.capitalize(), w.title())}))
"""Texts that stand for a missing value, as they are spelled. `None` is none of them: it can be a finding."""

NUMBERS = (
    *(10**digits - 1 - less for digits in range(2, 10) for less in (0, 1, 2)),
    *(-1, -2, -3, -7, -8, -9, -97, -98, -99, -998, -999, -9999, -99999, -999999),
)
"""Numbers that stand for a missing value where they are far from all others, or are the only negative ones."""

DATES = (
    "0001-01-01", "1111-11-11", "1753-01-01", "1800-01-01", "1899-12-30", "1899-12-31", "1900-01-01", "1901-01-01",
    "1970-01-01", "2099-12-31", "2100-01-01", "2999-12-31", "3000-01-01", "9999-01-01", "9999-09-09", "9999-12-31",
)  # fmt: skip
"""Dates that do where they are far from all others."""

FAR_NUMBER = 0.5
"""How far such a number lies beyond all others, as a share of their range."""

FAR_DATE = 0.1
"""The same of a date."""

_BLANKS = "' ' || chr(9) || chr(10) || chr(13) || chr(160)"
"""What is cut off at both ends of a text."""

_HERE = "{}"
"""Where the text goes in an expression that converts it."""


@dataclass(frozen=True)
class Form:
    """A way to write dates or numbers as text.

    `reads` is a condition about a text without blanks around it, `made` the expression of its value in the type of the
    form, both with `{}` for the text. Forms of which one text can be two differ in their `order`; `twin` is the place
    of the other in FORMS, and `taken` says why this one is taken where every text can be both.
    """

    type: str
    said: str
    reads: str
    made: str
    order: str | None = None
    twin: int | None = None
    taken: str | None = None
    hint: str = ""

    @property
    def is_date(self) -> bool:
        """Whether it is one of dates."""
        return self.type in ("DATE", "TIMESTAMP")


def _date(format_: str, order: str | None = None, twin: int | None = None) -> Form:
    """Return dates in a format of strptime."""
    type_ = "TIMESTAMP" if "%H" in format_ else "DATE"
    taken = None
    if twin is not None:
        before = "day before month, as most countries write" if order == "day" else "month before day"
        taken = f"ambiguous, as no number is above 12: taken as {before}"
    parsed = f"try_strptime({_HERE}, {text(format_)})"
    hint = "two digits of a year are read as 1969 to 2068" if "%y" in format_ else ""
    made = f"CAST(strptime({_HERE}, {text(format_)}) AS {type_})"
    reads = f"coalesce(year({parsed}) BETWEEN 1000 AND 9999, false)"
    return Form(type_, f"dates as text, {format_}", reads, made, order, twin, taken, hint)


def _dates() -> list[Form]:
    """Forms of dates; where a text can be two, day before month comes first."""
    found: list[Form] = []
    for time in ("", " %H:%M", " %H:%M:%S", "T%H:%M:%S"):
        found += [_date(f"%Y{sign}%m{sign}%d{time}") for sign in ("-" if time else "-/.")]
        for year in ("%Y",) if time[:1] == " " else ("%Y", "%y") if not time else ():
            found.append(_date(f"%d.%m.{year}{time}"))
            for sign in "/-":
                place = len(found)
                found.append(_date(f"%d{sign}%m{sign}{year}{time}", "day", place + 1))
                found.append(_date(f"%m{sign}%d{sign}{year}{time}", "month", place))
    named = ("%d-%b-%Y", "%d %b %Y", "%d %B %Y", "%B %d, %Y", "%b %d, %Y", "%d. %B %Y", "%d-%b-%y")
    return [*found, *map(_date, named)]


def _numbers(place: int) -> list[Form]:
    """Forms of numbers, the first of which stands at a place of FORMS."""

    def form(type_: str, said: str, pattern: str, made: str, **more: object) -> Form:
        reads = f"regexp_full_match({_HERE}, {text(pattern)})"
        made = f"CAST({made} AS {type_})"
        return Form(type_, f"numbers as text{said}", reads, made, **more)  # type: ignore[arg-type]

    whole = r"(0|[1-9]\d*)"
    exponent = r"([eE][+-]?\d{1,2})?"
    ambiguous = "ambiguous, as three digits follow every {}: taken as {}"
    return [
        form("BIGINT", "", r"[+-]?(0|[1-9]\d{0,17})", _HERE, hint="leave them if they are codes and no quantities"),
        form("DOUBLE", "", rf"[+-]?({whole}(\.\d*)?|\.\d+){exponent}", _HERE, order="point", twin=place + 3,
             taken=ambiguous.format("point", "decimals")),
        form("DOUBLE", " with commas between thousands", rf"[+-]?([1-9]\d{{0,2}}(,\d{{3}})+|{whole})(\.\d+)?",
             f"replace({_HERE}, ',', '')", order="point", twin=place + 3,
             taken=ambiguous.format("comma", "thousands, not as decimals")),
        form("DOUBLE", " with decimal commas", rf"[+-]?([1-9]\d{{0,2}}(\.\d{{3}})+|{whole})(,\d+)?",
             f"replace(replace({_HERE}, '.', ''), ',', '.')", order="comma", twin=place + 2,
             taken=ambiguous.format("comma or point", "decimals after commas")),
    ]  # fmt: skip


def _forms() -> tuple[Form, ...]:
    reads, made = f"TRY_CAST({_HERE} AS TIMESTAMP) IS NOT NULL", f"CAST({_HERE} AS TIMESTAMP)"
    moments = Form("TIMESTAMP", "dates and times as text", reads, made)
    dates = [*_dates(), moments]
    return (*dates, *_numbers(len(dates)))


FORMS = _forms()
"""Of forms that read all values, and which no other column of the table tells apart, the first is taken."""


def values() -> dict[str, object]:
    """What templates compare cells with."""
    columns = ("type", "said", "reads", "made", "twin", "taken", "hint")
    kept = {"shape": "INTEGER", "sequence": "VARCHAR"} | dict.fromkeys(columns, "VARCHAR") | {"twin": "INTEGER"}
    rows = [[i, form.order, *(getattr(form, c) for c in columns)] for i, form in enumerate(FORMS)]
    return {
        "codes": join_sql(map(text, CODES)),
        "longest": max(map(len, CODES)),
        "numbers": join_sql(f"({n}, '{n}')" for n in NUMBERS),
        "dates": join_sql(f"(epoch(TIMESTAMP '{d}'), '{d}')" for d in DATES),
        "far_number": Sql(str(FAR_NUMBER)),
        "far_date": Sql(str(FAR_DATE)),
        "trimmed": Sql(f"trim(value, {_BLANKS})"),
        "reads": [{"sql": Sql(form.reads.replace(_HERE, "value")), "is_date": form.is_date} for form in FORMS],
        "forms": literal_rows(kept, rows),
    }


# --- statements ------------------------------------------------------------------------------------------


def columns(source: catalog.Source, declared: Iterable[PolicyRow]) -> Sql:
    """Rows of the pieces of the statements that mend a column: `words` is its text, `trimmed` that without blanks
    around it, `altered` the beginning of what changes its type, `padded` what cuts blanks off. Where the policy has a
    row of the column, `declared` and `declared_end` go around more codes; where it has codes, they are `held`, and
    `forgotten` takes them back, as no value is one of them any more when the column has another type."""
    rows = {source.spelled(row.declared.column): row for row in declared}
    kept = ("place", "plain", "words", "trimmed", "altered", "padded", "declared", "declared_end", "held", "forgotten")
    found = []
    for place, (name, type_) in enumerate(source.columns.items()):
        plain = identifier(name)
        words = plain if type_ == "VARCHAR" else Sql(f"CAST({plain} AS VARCHAR)")
        trimmed = f"trim({words}, {_BLANKS})"
        altered = f"ALTER TABLE {source.sql} ALTER COLUMN {plain} TYPE "
        padded = f"{altered}VARCHAR USING {trimmed}"
        if type_ == "VARCHAR":
            padded = f"UPDATE {source.sql} SET {plain} = {trimmed} WHERE {plain} <> {trimmed}"
        row = rows.get(name)
        found.append([place, plain, words, trimmed, altered, padded, *(_declared(source, row) if row else [None] * 4)])
    return literal_rows(dict.fromkeys(kept, "VARCHAR") | {"place": "INTEGER"}, found)


def _declared(source: catalog.Source, row: PolicyRow) -> list[str | None]:
    """What adds codes to a row of the policy, before and after them; its own codes, and what takes them back."""
    key = join_sql(text(part) for part in (row.schema_name, row.table_name, row.declared.column))
    codes = [text(code) for code in row.declared.settings.missing]
    update = f"UPDATE {qualified(source.home, catalog.SCHEMA, 'policy')} SET missing = "
    where = f" WHERE (schema_name, table_name, column_name) = ({key})"
    has = [join_sql(codes), f"; {update}NULL{where}"] if codes else [None, None]
    return [f"{update}[{''.join(f'{code}, ' for code in codes)}", f"]{where}", *has]


def view(source: catalog.Source) -> dict[str, Sql]:
    """The statement that makes a view of what is no table, before and after its columns: nothing is replaced by it."""
    name = f"{PurePath(source.table).stem if names.is_file(source.shown) else source.table}_mended"
    is_local = source.sql == identifier(source.table)  # which a view of a database cannot read
    made = f"CREATE TEMP VIEW IF NOT EXISTS {identifier(name)}"
    if not is_local:
        place = (source.database, source.schema) if source.foreign is None else (source.home, "main")
        made = f"CREATE VIEW IF NOT EXISTS {qualified(*place, name)}"
    return {"head": text(f"{made} AS SELECT * REPLACE ("), "tail": text(f") FROM {source.sql}")}
