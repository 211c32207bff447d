"""The second page of a report: singling out, linkability and inference, the risks of the opinion WP216."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from dbanon.errors import DbanonError
from dbanon.publishing.report import attacks
from dbanon.publishing.report.blocks import format_cell
from dbanon.publishing.report.columns import UnchangedSource
from dbanon.publishing.report.queries import ReleaseReader, first_value_by_name
from dbanon.publishing.report.verdict import VerdictWriter
from dbanon.publishing.report.wording import count, odds, percent
from dbanon.sqltext.quote import Sql

MAX_NUMBERS = 8
"""Numbers of a risk that are on the second page, which is one sheet of paper."""


@dataclass(frozen=True)
class RiskNumber:
    """A number of a risk as people write it, what it is, and the queries that recompute it."""

    label: str
    value: str
    sql: Sequence[Sql] = ()


@dataclass(frozen=True)
class Risk:
    """One of the three risks: its name, the question that the opinion asks, and the numbers of the release."""

    title: str
    question: str
    numbers: Sequence[RiskNumber]


TERMS = (
    (
        "GDPR, Recital 26",
        "data are anonymous if no one can be identified by means that are reasonably likely to be used. The numbers "
        "above are for a reader who knows the quasi-identifiers. Whether other means are reasonably likely depends on "
        "the recipient: that is your assessment. Anyone who has the source and the ledger can link every class to "
        "people.",
    ),
    (
        "EDPB, Guidelines 01/2025",
        "pseudonymised data remain personal data. This applies to a release with pseudonyms, and to every release as "
        "long as its reader can get the source.",
    ),
    (
        "ISO/IEC 27559",
        "the numbers of this page belong to the assessments of the data and of identifiability; purpose, recipient and "
        "legal basis to the assessment of the context; the ledger and this report, filed and signed, to governance.",
    ),
)
"""What the numbers mean in the terms of law and standards: pairs of a source and sentences."""


def three_risks(reader: ReleaseReader, writer: VerdictWriter, source: UnchangedSource | None) -> list[Risk]:
    """Return the three risks with the numbers of a release.

    Attacks need the source, so they are omitted without it and from a page for recipients.
    """
    attacked = None if reader.outgoing else source
    return [
        Risk(
            "Singling out",
            "Can a reader isolate the records of one person?",
            _shortened(_singling_out(writer)),
        ),
        Risk(
            "Linkability",
            "Can a reader link records about the same person, here or in other data?",
            _shortened(_linkability(reader, writer, attacked)),
        ),
        Risk(
            "Inference",
            "Can a reader deduce a sensitive value of a person?",
            _shortened(_inference(reader, writer, attacked)),
        ),
    ]


def _shortened(numbers: Iterable[RiskNumber]) -> list[RiskNumber]:
    """Return at most MAX_NUMBERS numbers; of more, the last entry states how many are only in the appendix."""
    numbers = list(numbers)
    if len(numbers) <= MAX_NUMBERS:
        return numbers
    n_omitted = len(numbers) - MAX_NUMBERS + 1
    return [*numbers[: MAX_NUMBERS - 1], RiskNumber("further numbers", f"{n_omitted} in the appendix")]


def _percent_and_odds(share: float) -> str:
    """Return a share as a percentage, followed by the odds."""
    return f"{percent(share)} ({odds(share)})"


_SINGLING_OUT_NUMBERS: tuple[tuple[str, tuple[str, str], Callable[[float], str]], ...] = (
    ("risk of one person, highest (prosecutor)", ("risk", "prosecutor, highest"), _percent_and_odds),
    ("risk of one person, average", ("risk", "prosecutor, average"), _percent_and_odds),
    (
        "records that a reader names correctly by guessing a person for each (marketer)",
        ("risk", "marketer, average"),
        percent,
    ),
    (
        "records that are unique by their unchanged values",
        ("not protected", "records unique by all unchanged columns"),
        partial(count, singular="record", plural="records"),
    ),
)
"""Numbers about singling out: name, place in the certificate (section, item), and how the value is written."""


def _singling_out(writer: VerdictWriter) -> Iterator[RiskNumber]:
    """Yield the numbers about singling out."""
    smallest, classes = writer.number("achieved", "k"), writer.number("achieved", "classes")
    yield RiskNumber(
        "smallest class",
        f"{count(smallest or 0, *writer.unit)}; {count(classes or 0, 'class', 'classes')}",
        writer.queries(("achieved", "k"), ("achieved", "classes")),
    )
    for label, place, describe in _SINGLING_OUT_NUMBERS:
        value = writer.number(*place)
        if value is not None:
            yield RiskNumber(label, describe(value), writer.queries(place))


def _linkability(reader: ReleaseReader, writer: VerdictWriter, source: UnchangedSource | None) -> Iterator[RiskNumber]:
    """Yield the numbers about linkability; those of the linkage attack need the source."""
    if source is not None:
        try:
            query = attacks.linkage_query(reader, source)
            metrics = first_value_by_name([row[1:3] for row in reader.rows(query)])
        except DbanonError as problem:
            yield RiskNumber("link with a register of the people", f"not tried: {problem}")
        else:
            tried, linked = metrics.get("tried", metrics["registered"]), metrics["linked"] or 0
            alone = metrics["exact_matches"] or 0
            yield RiskNumber(
                f"of {count(tried, 'record', 'records')} of the source, those that fit exactly one released record",
                f"{int(alone):,} ({percent(alone / tried)})" if tried else "none",
                [query.display_sql],
            )
            if linked:
                yield RiskNumber(
                    "released records that a person fits, minimum and median",
                    f"{int(metrics['candidates_least']):,} and {int(metrics['candidates_median']):,}",
                    [query.display_sql],
                )
    pseudonyms = [format_cell(name) or "" for name, _ in reader.shape.pseudonyms]
    yield RiskNumber(
        "pseudonyms that link records", f"published: {', '.join(pseudonyms)}" if pseudonyms else "none published"
    )
    yield RiskNumber("other releases of the same people", writer.composition())


def _inference(reader: ReleaseReader, writer: VerdictWriter, source: UnchangedSource | None) -> Iterator[RiskNumber]:
    """Yield the numbers about inference of sensitive values; those of the attack need the source."""
    if not reader.shape.sensitive:
        yield RiskNumber("sensitive columns", "none declared, so nothing was measured")
        return
    place = ("not protected", "share of records in homogeneous classes")
    homogeneous = writer.number(*place)
    if homogeneous is not None:
        yield RiskNumber(
            "records in classes in which all share a sensitive value", percent(homogeneous), writer.queries(place)
        )
    for name, _ in reader.shape.sensitive:
        for (section, label), line in writer.lines.items():
            if section == "achieved" and label.endswith(f" of {name}") and line.sql is not None:
                model = label.removesuffix(f" of {name}").replace("_", "-")
                value = format_cell(float(line.value)) or ""
                yield RiskNumber(f"{format_cell(name)}: achieved {model}", value, [line.sql])
    if source is not None:
        yield from _guesses(reader)


def _guesses(reader: ReleaseReader) -> Iterator[RiskNumber]:
    """Yield, by sensitive column, how often a guess from the class is right, and how often one without it."""
    try:
        query = attacks.majority_query(reader)
        rows = reader.rows(query)
    except DbanonError as problem:
        yield RiskNumber("guess of the most frequent value of a class", f"not tried: {problem}")
        return
    for column, name, value, baseline, *_ in rows:
        if name == "accuracy" and value is not None and baseline is not None:
            yield RiskNumber(
                f"{format_cell(column)}: right guesses from the class (without the class)",
                f"{percent(value)} ({percent(baseline)})",
                [query.display_sql],
            )
