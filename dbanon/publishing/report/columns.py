"""What became of each column: what was lost, and its values before and after."""

from dataclasses import dataclass

from dbanon.errors import DbanonError
from dbanon.publishing.certificate import Line, number
from dbanon.publishing.report import svg
from dbanon.publishing.report.blocks import Beside, Facts, Note, Part, Plot, Query, Section, Table, shown
from dbanon.publishing.report.queries import Asking
from dbanon.sqltext.qualify_builtins import qualify_builtins
from dbanon.sqltext.quote import Sql, identifier, join_sql, text
from dbanon.sqltext.templates import fill

FREQUENT = 5
"""Values of a column that are listed."""


@dataclass(frozen=True)
class Before:
    """The source of a release that is as it was: as SQL to be shown and to be run, who a person is, and its name, as
    table functions take it."""

    shown: Sql
    run: Sql
    person: str | None
    name: str


def loss(asking: Asking, before: Before | None) -> Section:
    """Of each quasi-identifier, how far its values were raised and how often nothing is left of it."""
    facts: list[Line] = []
    drawn: list[tuple[str, float]] = []
    parts: list[Part] = []
    quasi = [column for column, role in asking.entry.roles.items() if role == "quasi"]
    if before is not None:
        for column in quasi:
            try:
                asked = asking.function("distortion", ("value",), {"qi": [column], "norm": True})
            except DbanonError as problem:
                parts.append(Note(f"How far {shown(column)} was raised could not be told: {problem}"))
                continue
            value = float(asking.rows(asked)[0][0])
            facts.append(Line("loss", f"{column}: average level", number(value), asked.shown))
            drawn.append((column, value))
    by = asking.certificate.recompute(asking.at)
    nothing = []
    for column in quasi:
        name = f"fully_generalized:{column}"
        if name in asking.certificate.metrics:
            value = asking.certificate.metrics[name]
            facts.append(Line("loss", f"{column}: share that tells nothing", number(value), by.metric(name)))
            nothing.append((column, value))
    said = ["Generalizing loses detail: that is what protects, and what an analysis misses."]
    if drawn:
        said.append(
            "The average level is 0 where values are published as they were, and 1 where nothing of them is left: the "
            "height of a published node in its hierarchy, or the width of a range over that of the column."
        )
    said.append("The share that tells nothing is that of the records whose published value stands for all values.")
    kind = "average level" if drawn else "share of records that tells nothing"
    bars = svg.bars(drawn or nothing, kind)
    sql = [line.sql for line in facts if line.sql and line.item.endswith(kind if drawn else "nothing")]
    return Section(
        "loss", "Loss by column", said, [Plot(bars, f"Quasi-identifiers by {kind}.", sql), Facts(facts), *parts]
    )


def values(asking: Asking, before: Before | None) -> Section:
    """Return each published column: different and missing values, and for the custodian the most frequent ones."""
    columns = [c for c, role in asking.entry.roles.items() if c in asking.certificate.shown and role]
    asked = _summary(asking, columns, before)
    rows = asking.rows(asked)
    head = ("column", *(("different before", "missing before") if before else ()), "different after", "missing after")
    said = ["Columns that are published, with the number of different values and of records that have none."]
    if before is None:
        said.append("What the source has of them is not told here.")
    else:
        said.append(
            f"Values before are those of the source; of these, only such as at least {asking.entry.k} "
            f"{'persons' if before.person else 'records'} share are shown."
        )
    drawn = [(row[0], *((row[1],) if before else ()), row[-2]) for row in rows]
    parts: list[Part] = [
        Plot(
            svg.before_and_after(drawn, "different values"),
            "Different values of each column, before and after." if before else "Different published values.",
            [asked.shown],
        ),
        Table("Different and missing values", head, rows, asked.shown),
    ]
    parts += [] if asking.outgoing else [_frequent(asking, column, before) for column in columns]
    return Section("columns", "Columns before and after" if before else "Published columns", said, parts)


def _summary(asking: Asking, columns: list[str], before: Before | None) -> Query:
    def filled(release: Sql, source: Sql | None) -> Sql:
        of = [
            {
                "label": text(column),
                "before": _as_text([column]),
                "missing_before": _missing([column]),
                "after": _as_text(published(asking, column)),
                "missing_after": _missing(published(asking, column)),
            }
            for column in columns
        ]
        return Sql(fill("publishing/report/columns.sql", columns=of, release=release, source=source).strip())

    if before is None:
        return asking.of(lambda at: filled(at.release, None))
    return Query(filled(asking.at.release, before.shown), qualify_builtins(filled(asking.full.release, before.run)))


def _frequent(asking: Asking, column: str, before: Before | None) -> Beside:
    """Return the most frequent values of a column, in the source where that is told, and in the release."""
    tables: list[Table] = []
    if before is not None:
        person = None if before.person is None else Sql(f"CAST({identifier(before.person)} AS VARCHAR)")
        asked = Query(
            _most(_as_text([column]), before.shown, asking.entry.k, person),
            qualify_builtins(_most(_as_text([column]), before.run, asking.entry.k, person)),
        )
        tables.append(asking.table(f"{shown(column)}, before", ("value", "records"), asked))
    names = published(asking, column)
    after = asking.of(lambda at: _most(_as_text(names), at.release, None, None))
    tables.append(asking.table(f"{shown(column)}, after", ("value", "records"), after))
    return Beside(tables)


def _most(value: Sql, of: Sql, least: int | None, person: Sql | None) -> Sql:
    return Sql(
        fill(
            "publishing/report/frequent_values.sql", value=value, of=of, least=least, person=person, most=FREQUENT
        ).strip()
    )


def published(asking: Asking, column: str) -> list[str]:
    """Return the columns of the release that show one of the source: the ends of a number may be two."""
    names = {name.lower(): name for name in asking.certificate.columns}
    ends = [names.get(f"{column}{end}".lower()) for end in ("_min", "_max")]
    own = names.get(column.lower())
    return [own] if own is not None else [end for end in ends if end is not None]


def _as_text(columns: list[str]) -> Sql:
    if len(columns) == 1:
        return Sql(f"CAST({identifier(columns[0])} AS VARCHAR) COLLATE POSIX")
    both = join_sql((f"coalesce(CAST({identifier(c)} AS VARCHAR), '')" for c in columns), " || ', ' || ")
    return Sql(f"CASE WHEN NOT ({_missing(columns)}) THEN '[' || {both} || ']' END COLLATE POSIX")


def _missing(columns: list[str]) -> Sql:
    return join_sql((f"{identifier(c)} IS NULL" for c in columns), " AND ")
