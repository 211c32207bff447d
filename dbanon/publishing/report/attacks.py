"""The report's section on attacks, computed from the source. It is for the custodian and never published."""

from collections.abc import Mapping, Sequence

from dbanon.errors import DbanonError
from dbanon.publishing.report.blocks import (
    Block,
    NoteBlock,
    ReportQuery,
    ResultTable,
    Section,
    format_cell,
    format_share,
)
from dbanon.publishing.report.columns import UnchangedSource
from dbanon.publishing.report.queries import ReleaseReader, first_value_by_name
from dbanon.publishing.report.wording import count
from dbanon.sqltext.messages import plural_form

_CLASS_ATTACKS = {
    "homogeneity": "An attacker who finds a person's class learns a sensitive value that all of its records share.",
    "background": (
        "An attacker who finds a person's class, and can rule out one of its values for that person, is left with a "
        "single value."
    ),
    "similarity": (
        "An attacker who finds a person's class learns that its sensitive values are all of one kind, according to "
        "their hierarchy."
    ),
    "skewness": "An attacker who finds a person's class is more certain of a sensitive value than without the "
    "release, by at least 20 percentage points.",
    "minimality": (
        "An attacker who knows the algorithm, and that it generalized only as far as necessary, concludes that a "
        "value was too frequent among some records."
    ),
    "reconstruction": (
        "An attacker guesses the exact values behind the published ones, and with them the sensitive value."
    ),
    "downcoding": (
        "An attacker who knows that ranges and nodes are as tight as possible concludes that some records are at "
        "their ends (the first or last value of a range, or one child of a node)."
    ),
}
"""Attacks on single classes that are tried, and what each does."""

_SHOWN_METRICS = "value <> 0 OR (value = 0 AND name IN ('guesses', 'actual_accuracy'))"
"""Rows of attack_summary that say something."""

MAX_PAIRS = 100_000_000
"""Pairs of a record and a class that linkage and majority look at: seconds."""

MIN_SAMPLE = 1000
"""Records that are tried, however many classes there are."""

_COLUMNS = ("attribute", "name", "value", "majority_baseline", "raw_baseline", "description")
_HEADER = ("column", "number", "value", "by the most frequent value", "by the raw data", "what it is")


def attack_section(reader: ReleaseReader, source: UnchangedSource | None) -> Section:
    """Return the section about the gain of each attack; without the source, only a sentence that none was run.

    Attacks that do not apply to the release are omitted. Of those that fail, there is a note.
    """
    if source is None:
        sentences = [
            "No attack was tried: the source has changed since the release or does not exist, and only the source "
            "shows which guesses are right."
        ]
        return Section("attacks", "Attacks", sentences)
    parts = [*linkage_parts(reader, source), *majority_parts(reader)]
    for kind, does in _CLASS_ATTACKS.items():
        if kind == "minimality" and reader.entry.options.get("alpha") is None:
            continue
        if kind != "downcoding" and not reader.shape.sensitive:
            continue
        columns = ("attribute", "name", "value", "description")
        try:
            query = reader.function("attack_summary", columns, {"kind": kind}, _SHOWN_METRICS)
        except DbanonError as problem:
            if kind != "similarity":  # it takes a hierarchy of sensitive values, which few have
                parts.append(_not_run(kind, problem))
            continue
        rows = reader.rows(query)
        parts.append(NoteBlock(f"{does} {_result_sentences(rows)}", kind.capitalize()))
        parts.append(
            ResultTable(
                f"The numbers of {kind}",
                ("column", "number", "value", "what it is"),
                rows,
                query.display_sql,
                mixed=(2,),
                names=(1,),
            )
        )
    sentences = [
        "These attackers read the release and know whom they look for. The source shows how often they are right. Do "
        "not publish this chapter: its numbers follow from values that are not published.",
        "A guess is counted if its confidence reaches the threshold of the attack: 100% for homogeneity, background "
        "and similarity, 20 percentage points more than without the release for skewness, alpha for minimality, and "
        "50% for the others.",
        "Linkage with tables of other people, membership (who of a register is in the source), and prediction by a "
        "random forest need data that the report does not have; attack_summary runs them.",
    ]
    return Section("attacks", "Attacks", sentences, parts)


def linkage_query(reader: ReleaseReader, source: UnchangedSource) -> ReportQuery:
    """Return the query for the numbers of the linkage attack; also raises the errors of `attack_summary`."""
    names = "('registered', 'tried', 'linked', 'candidates_least', 'candidates_median', 'exact_matches', 'confidence')"
    arguments: dict[str, object] = {
        "kind": "linkage",
        "register": source.name,
        "threshold": 0.0,
        **_sample_argument(reader),
    }
    return reader.function("attack_summary", _COLUMNS, arguments, f"name IN {names}")


def majority_query(reader: ReleaseReader) -> ReportQuery:
    """Return the query for the numbers of the majority attack; also raises the errors of `attack_summary`."""
    arguments: dict[str, object] = {"kind": "majority", **_sample_argument(reader)}
    return reader.function("attack_summary", _COLUMNS, arguments, "name IN ('accuracy', 'asked')")


def linkage_parts(reader: ReleaseReader, source: UnchangedSource) -> list[Block]:
    """Run the linkage attack, which looks up every source record in the release by its quasi-identifiers.

    Returns:
        A note with the result in words and a table of the numbers; only a note if the attack cannot be run.
    """
    try:
        query = linkage_query(reader, source)
    except DbanonError as problem:
        return [_not_run("linkage", problem)]
    rows = reader.rows(query)
    metrics, raw_values = first_value_by_name([row[1:3] for row in rows]), {row[1]: row[4] for row in rows}
    n_tried = metrics.get("tried", metrics["registered"]) or 0
    sentences = [
        "An attacker who has a table of all people in the source, by name and with the exact quasi-identifiers, looks "
        f"up each of them in the release.{_sample_clause(metrics)}",
        f"{format_cell(metrics['linked'])} of {count(n_tried, 'record', 'records')} of the source "
        f"{plural_form(metrics['linked'] or 0, 'fits', 'fit')} at least one record of the release.",
    ]
    if metrics["linked"]:
        sentences.append(
            f"Each of these fits at least {count(metrics['candidates_least'], 'record', 'records')}, and "
            f"{format_cell(metrics['candidates_median'])} in the median. "
            f"{format_cell(metrics['exact_matches'])} {plural_form(metrics['exact_matches'] or 0, 'fits', 'fit')} "
            f"exactly one; if the exact values were published, {format_cell(raw_values['exact_matches'])} would. An "
            "attacker who picks one of the records that a person fits is right with a probability of "
            f"{format_share(metrics['confidence'])} on average."
        )
    return [
        NoteBlock(" ".join(sentences), "Linkage"),
        ResultTable("The numbers of linkage", _HEADER, rows, query.display_sql, mixed=(2, 3, 4), names=(1,)),
    ]


def majority_parts(reader: ReleaseReader) -> list[Block]:
    """Run the attack that guesses, for each source record, the most frequent sensitive value of the matching records.

    Returns:
        A note with the result in words and a table of the numbers; only a note if the attack cannot be run. Empty if no
        column is sensitive.
    """
    if not reader.shape.sensitive:
        return []
    try:
        query = majority_query(reader)
    except DbanonError as problem:
        return [_not_run("inference", problem)]
    rows = reader.rows(query)
    sentences = [
        "An attacker who knows that a person is in the release, and knows the person's quasi-identifiers, guesses the "
        f"most frequent sensitive value among the records that fit.{_sample_clause(_sample_argument(reader))}",
    ]
    for column in dict.fromkeys(row[0] for row in rows):
        right = next(row for row in rows if row[:2] == (column, "accuracy"))
        if right[2] is None:
            sentences.append(f"{format_cell(column)}: no person has a value that could be guessed.")
            continue
        sentences.append(
            f"{format_cell(column)}: {format_share(right[2])} of the guesses are right. Guessing the most frequent "
            f"value of the release for everyone is right for {format_share(right[3])}, and an attacker who has the "
            f"source would be right for {format_share(right[4])}."
        )
    sentences.append(
        "The gain over the most frequent value has two causes: what the quasi-identifiers reveal about a person, and "
        "the person's own record. That record is one of those that are counted, and in small classes it causes a gain "
        "by itself."
    )
    return [
        NoteBlock(" ".join(sentences), "Inference"),
        ResultTable("The numbers of inference", _HEADER, rows, query.display_sql, mixed=(2, 3, 4), names=(1,)),
    ]


def _sample_argument(reader: ReleaseReader) -> dict[str, object]:
    """Return {"sample": n}, with the greatest number n of records that an attack tries in seconds.

    Returns an empty mapping if the release has no more records than that.
    """
    metrics = reader.certificate.metrics
    max_records = max(int(MAX_PAIRS // max(metrics["classes"], 1)), MIN_SAMPLE)
    return {} if metrics["records"] <= max_records else {"sample": max_records}


def _sample_clause(metrics: Mapping[str, object]) -> str:
    """Return a sentence, with a leading space, that states how many records were tried; "" if all were.

    `metrics` has this number as "tried" or "sample".
    """
    n_tried = metrics.get("tried", metrics.get("sample"))
    if n_tried is None:
        return ""
    return f" To finish in seconds, this was tried with {format_cell(n_tried)} records, drawn by a hash."


def _not_run(kind: str, problem: DbanonError) -> NoteBlock:
    """Return a note that an attack could not be run, with the error."""
    return NoteBlock(f"{kind.capitalize()}: this could not be tried. {problem}")


def _result_sentences(rows: Sequence[Sequence[object]]) -> str:
    """Return the result of an attack on classes in sentences, column by column.

    `rows` are (column, name of the number, value, ...). If no guess reaches the threshold, the first sentence says so.
    """
    sentences = []
    for column in dict.fromkeys(row[0] for row in rows):
        metrics = first_value_by_name([row[1:] for row in rows if row[0] == column])
        if metrics.get("guesses"):
            n_guesses, n_people = metrics["guesses"], metrics.get("exposed_people", 0)
            sentence = (
                f"{count(n_guesses, 'guess reaches', 'guesses reach')} the threshold, about "
                f"{count(n_people, 'person', 'people')}"
            )
            if "actual_accuracy" in metrics:
                sentence += f"; {format_share(metrics['actual_accuracy'])} of the guesses are right"
            sentences.append(f"{format_cell(column)}: {sentence}.")
        if metrics.get("success"):
            sentences.append(
                f"{format_cell(column)}: {format_share(metrics['success'])} of the records are guessed exactly."
            )
        if metrics.get("known"):
            sentences.append(
                f"{format_cell(column)}: {count(metrics['known'], 'record is', 'records are')} certainly at an end, "
                f"of {plural_form(metrics['known'], 'an unknown person', 'unknown persons')}."
            )
    return (
        " ".join(sentences)
        if any("the threshold" in one for one in sentences)
        else " ".join(["No guess reaches the threshold.", *sentences])
    )
