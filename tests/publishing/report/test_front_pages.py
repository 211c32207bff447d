"""The first two pages of a report: every number is right, and nothing is claimed that was not checked."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner
from support.report_pages import SOURCE, Page, build

import dbanon
from dbanon import errors
from dbanon.cli import main
from dbanon.publishing.report.wording import odds, percent


def front(page: str) -> str:
    """Return the text of the pages before the appendix, without references to queries."""
    before = page[page.index("<main>") : page.index('<section class="appendix"')]
    return Page(re.sub(r'<a class="ref".*?</a>|<svg.*?</svg>', "", before, flags=re.DOTALL)).text


def items(page: str) -> dict[str, str]:
    """Return the labels and values of the definition lists before the appendix."""
    before = page[page.index("<main>") : page.index('<section class="appendix"')]
    found = re.findall(r"<dt>(?:<bdi>)?([^<]*)(?:</bdi>)?</dt><dd><bdi>([^<]*)</bdi>", before)
    return dict(found)


def text_of(connection: Any, name: str = "safe", **options: Any) -> str:
    return str(dbanon.report(connection, name, **options))


def test_verdict_numbers_by_hand(clinic: Any) -> None:
    con, _, custodians, outgoing = clinic
    rows = con.execute("SELECT born, town, weight, disease FROM safe").fetchall()
    sizes = Counter(row[:3] for row in rows)
    smallest, n_classes = min(sizes.values()), len(sizes)
    for page in (custodians, outgoing):
        text, facts = front(page), items(page)
        assert f"{len(rows)} records. Each shares the published quasi-identifiers" in text
        assert f"with at least {smallest - 1} others." in text
        average = n_classes / len(rows)
        expected = f"at most {odds(1 / smallest)} ({percent(1 / smallest)}), on average {percent(average)}."
        assert f"The risk of being picked out by these is {expected}" in text
        assert facts["smallest class"] == f"{smallest} records; {n_classes} classes"
        assert facts["risk of one person, highest (prosecutor)"] == f"{percent(1 / smallest)} ({odds(1 / smallest)})"
        uniform = [
            key for key in sizes if len({row[3] for row in rows if row[:3] == key and row[3] is not None}) == 1
            and not any(row[3] is None for row in rows if row[:3] == key)
        ]  # fmt: skip
        share = sum(sizes[key] for key in uniform) / len(rows)
        assert facts["records in classes in which all share a sensitive value"] == percent(share)


def test_verdict_counts_people_only_with_person_column(clinic: Any, tmp_path: Path) -> None:
    text = front(clinic[2])
    assert "The policy names no column" not in text and "the policy names no column that identifies people" in text
    assert "people in" not in text and "anonymity of records" in text
    with build(tmp_path / "c.duckdb") as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, k=3, l=2, person="pid")
        n_records, n_people = con.execute(
            f"SELECT sum(c), count(*) FROM (SELECT count(*) AS c FROM {SOURCE} GROUP BY pid)"
        ).fetchall()[0]
        page = text_of(con, outgoing=True)
        assert f"{n_people} people in {n_records} records." in front(page)
        assert "3-anonymity of people; 2-diversity of disease" in front(page)
        assert "identifies people" not in front(page) and "The numbers count people" not in front(page)
        assert "the numbers count people. A reader who picks a record is right more often" in front(page)


@pytest.mark.parametrize(
    ("models", "present", "absent"),
    [
        ({}, ["no model limits what a class reveals about disease", "disease can be far more frequent"], []),
        ({"l": 2}, ["disease can be far more frequent in a class"], ["no model limits what a class reveals"]),
        ({"t": 0.9}, [], ["no model limits what a class reveals about", "can be far more frequent"]),
        (
            {"withhold": ["disease", "ward"]},
            ["no column is declared sensitive", "none declared, so nothing was measured"],
            ["also knows", "can be far more frequent", "rule out values"],
        ),
    ],
    ids=["k", "l", "t", "no sensitive column"],
)
def test_limits_follow_from_models(models: Any, present: list[str], absent: list[str], tmp_path: Path) -> None:
    with build(tmp_path / "c.duckdb", rows=90) as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, k=4, **models)
        text = front(text_of(con, outgoing=True))
        for sentence in present:
            assert sentence in text, sentence
        for sentence in absent:
            assert sentence not in text, sentence
        assert "no model of this release limits what a reader learns about whether a person is in the data" in text


def test_verdict_states_comparison_with_other_releases(tmp_path: Path) -> None:
    with build(tmp_path / "c.duckdb", rows=90) as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, k=4)
        text = front(text_of(con, outgoing=True))
        assert "Other releases were not compared: nothing identifies the people" in text
        dbanon.create_release(con, "first", "mondrian", SOURCE, k=4, person="pid")
        text = front(text_of(con, "first", outgoing=False))
        assert "There was no other release of the same people" in text or "Not compared, because it is unknown" in text


def test_report_states_recipient_from_ledger_or_arguments(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    with build(path, rows=90) as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, k=4)
        assert front(text_of(con, outgoing=True)).count("to be filled in") == 3
        dbanon.publish(con, "safe", tmp_path / "safe.csv", recipient="Uni Rome", purpose="a study")
        dbanon.publish(con, "safe", tmp_path / "b.duckdb", recipient="Uni Oslo", purpose="a study")
        page = text_of(con)
        facts = items(page)
        assert (facts["Purpose"], facts["Recipient"]) == ("a study", "Uni Rome; Uni Oslo")
        of_another = text_of(con, recipient="Uni Paris")
        assert items(of_another)["Recipient"] == "Uni Paris"
        assert not {"Purpose", "Legal basis"} & set(items(of_another))
        assert front(of_another).count("to be filled in") == 2, "purpose and legal basis"
        assert items(dbanon.report(con, "safe", recipient="Uni Oslo"))["Purpose"] == "a study"
        table = next(cells for _, cells in Page(page).tables if cells[1][2] == "Uni Oslo")
        assert [row[1:4] for row in table[1:]] == [
            ["b.duckdb", "Uni Oslo", "a study"],
            ["safe.csv", "Uni Rome", "a study"],
        ]
        outgoing = text_of(con, outgoing=True, legal_basis="contract 7")
        assert "Uni" not in outgoing and items(outgoing)["Legal basis"] == "contract 7"
        (html,) = con.execute("SELECT html FROM report('safe', outgoing := true, purpose := 'teaching')").fetchall()[0]
        assert items(html)["Purpose"] == "teaching"
        with pytest.raises(errors.InvalidArgumentError, match="report: purpose must be a text that is not empty"):
            dbanon.report(con, "safe", purpose="")
    command = [
        "report",
        str(path),
        "safe",
        "--legal-basis",
        "Art. 6 (1) e",
        "--outgoing",
        "-o",
        str(tmp_path / "r.html"),
    ]
    assert CliRunner().invoke(main, command).exit_code == 0
    assert items((tmp_path / "r.html").read_text("utf-8"))["Legal basis"] == "Art. 6 (1) e"


def test_report_contains_no_raw_metric_names_or_exponents(clinic: Any) -> None:
    for page in clinic[2:]:
        visible = re.sub(r"<code>.*?</code>|<svg.*?</svg>|<style>.*?</style>", "", page, flags=re.DOTALL)
        text = Page(visible).text
        assert not re.search(r"\d(?:\.\d+)?e[-+]\d", text)
        assert not re.search(r"(?:prosecutor|journalist|marketer|candidates|exact|actual)_\w+", text)


def test_report_of_database_without_published_file_table(tmp_path: Path) -> None:
    path = tmp_path / "c.duckdb"
    with build(path, rows=90) as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, k=4)
    with duckdb.connect(str(path)) as old:
        old.execute("DROP TABLE dbanon.published_file")
        old.execute("UPDATE dbanon.schema_version SET version = 5")
    with dbanon.connect(path, read_only=True) as con:
        page = text_of(con)
        assert (
            "Published files of this version" not in page
            and "lists no published file" not in page
            and "Verdict" in page
        )
