"""A report matches its SQL, reveals to recipients no more than the certificate, and is reproducible."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.reader_settings import READER_SETTINGS, apply_settings
from support.report_pages import SOURCE, Page, check_numbers, without_date

import dbanon
from dbanon import errors
from dbanon.ledger import releases
from dbanon.publishing import certificate
from dbanon.publishing.report import attacks, html
from dbanon.publishing.report.blocks import format_cell, format_share
from dbanon.runtime import session
from dbanon.source.catalog import SearchPath


def test_report_numbers_equal_their_sql(clinic: Any) -> None:
    con, _, custodians, _ = clinic
    page = Page(custodians)
    assert check_numbers(page, con) > 150
    measured_keys = [key for key in page.facts if key[0] in ("achieved", "risk", "not published", "loss")]
    assert len(measured_keys) > 15 and all(page.facts[key][1] is not None for key in measured_keys)
    used = {number for number, _ in page.tables} | {number for _, number in page.facts.values() if number}
    assert len(page.queries) - len(used) <= 2, "those of plots beside them"


def test_outgoing_report_recomputable_from_files(clinic: Any, tmp_path: Path) -> None:
    con, _, _, outgoing = clinic
    dbanon.publish(con, "safe", tmp_path / "safe.duckdb", classes=True)
    with duckdb.connect(tmp_path / "safe.duckdb", read_only=True) as plain_con:
        assert check_numbers(Page(outgoing), plain_con) > 30


@pytest.mark.parametrize("outgoing", [pytest.param(False, marks=pytest.mark.not_everyday), True])
def test_report_sql_independent_of_reader_settings(clinic: Any, outgoing: bool) -> None:
    with clinic[0].cursor() as con:
        page = Page(clinic[3] if outgoing else clinic[2])
        for settings in READER_SETTINGS:
            with apply_settings(con, settings):
                assert check_numbers(page, con) > (30 if outgoing else 150)


def test_outgoing_report_equals_outgoing_certificate(clinic: Any) -> None:
    con, _, _, outgoing = clinic
    current = session.find_session(con.raw)
    with current.cursor() as cursor:
        entry = releases.find_published("certificate", "safe", cursor, SearchPath.from_connection(con))
        actual_certificate = certificate.Certificate(entry, current, cursor)
        lines = {
            (line.section, line.label): line
            for line in actual_certificate.lines(actual_certificate.published_tables(classes=True))
        }
    facts = Page(outgoing).facts
    assert facts.keys() - lines.keys() == {k for k in facts if k[0] == "loss"}
    assert lines.keys() == {k for k in facts if k[0] != "loss"}
    for key, line in lines.items():
        shown = html.format_share if html.is_share(line) else format_cell
        assert facts[key][0] == (shown(float(line.value)) if line.sql else line.value)
    published_values = {row[0] for row in con.execute("SELECT metric FROM safe_metrics").fetchall()}
    columns = {element.split(":")[0] for section, element in facts if section == "loss"}
    assert columns and {f"fully_generalized:{column}" for column in columns} <= published_values


def test_outgoing_report_has_no_value_or_source_name(clinic: Any) -> None:
    con, _, custodians, outgoing = clinic
    values = {SOURCE, "surname", "pid"}
    for column in ("surname", "born", "town", "weight", "disease", "ward"):
        values |= {str(v) for (v,) in con.execute(f"SELECT DISTINCT {column} FROM {SOURCE}").fetchall() if v}
    for column in ("born", "town", "weight", "disease"):
        values |= {str(v) for (v,) in con.execute(f"SELECT DISTINCT {column} FROM safe").fetchall() if v} - {"*"}
    row = con.execute("SELECT source_fingerprint, policy_fingerprint FROM releases()").fetchall()[0]
    values |= set(map(str, row))
    assert [v for v in values if v in outgoing] == []
    assert {SOURCE, "Zyxoma", "Wexbury", "surname"} <= {v for v in values if v in custodians}
    assert "attack_summary" not in outgoing and "query_error" not in outgoing and "membership" not in outgoing


def test_custodian_report_contains_no_rare_source_value(clinic: Any) -> None:
    con, _, custodians, _ = clinic
    rare = con.execute(f"SELECT born::VARCHAR FROM {SOURCE} GROUP BY born HAVING count(*) < 5").fetchall()
    common = con.execute("SELECT DISTINCT born FROM safe").fetchall()
    present_values = [value for (value,) in rare if f">{value}<" in custodians and (value,) not in common]
    assert len(rare) > 50 and present_values == []
    assert not re.search(r"Surname\d+x", custodians)


def test_report_class_sizes_and_leading_values_by_hand(clinic: Any) -> None:
    con, _, custodians, outgoing = clinic
    rows = con.execute("SELECT born, town, weight, disease FROM safe").fetchall()
    sizes = Counter(row[:3] for row in rows)
    by_size = Counter(sizes.values())
    expected = [[str(n), str(by_size[n]), str(n * by_size[n])] for n in sorted(by_size)][:10]
    led = []
    for cells, size in sizes.items():
        values = Counter(row[3] for row in rows if row[:3] == cells and row[3] is not None)
        maximum = max(values.values(), default=0)
        led += [(maximum / size, size, value) for value, count in values.items() if count == maximum]
    worst = sorted(led, key=lambda found: -found[0])[:10]
    for page in (Page(custodians), Page(outgoing)):
        cells = [table_cells[1:] for number, table_cells in page.tables]
        assert expected in cells
    first_rows, name_text = [
        table_cells[1:] for _, table_cells in Page(custodians).tables if table_cells and len(table_cells[1]) == 7
    ]
    assert first_rows == name_text[:5]
    assert [line[6] for line in name_text] == [format_share(share) for share, *_ in worst]
    for line in name_text:
        assert (line[6], int(line[3]), line[5]) in {(format_share(s), n, v) for s, n, v in led}


def covers(published_text: Any, value: Any) -> bool:
    """Return whether a published text may represent a value; months for dates."""
    if published_text == "*" or published_text is None or value is None:
        return published_text == "*" or published_text is value
    low, _, high = published_text.strip("[]").partition(", ")
    return bool(low <= str(value)[: len(low)] and str(value)[: len(low)] <= (high or low))


def attack_numbers(page: Page, head: Any) -> dict[str, list[str]]:
    (actual_cells,) = [
        cells[1:] for _, cells in page.tables if len(cells) > 1 and len(cells[1]) == 6 and cells[1][1] == head
    ]
    return {line[1]: line[2:5] for line in actual_cells}


def test_report_linkage_and_inference_by_hand(clinic: Any) -> None:
    con, _, custodians, outgoing = clinic
    source = con.execute(f"SELECT born::VARCHAR, town, weight, disease FROM {SOURCE}").fetchall()
    safe = con.execute("SELECT born, town, weight, disease FROM safe").fetchall()
    common = Counter(row[3] for row in safe if row[3])
    fitting, right, number = [], Counter[str](), 0
    for person in source:
        fits = [row for row in safe if all(covers(row[i], person[i]) for i in range(3))]
        fitting.append(len(fits))
        if person[3] is None:
            continue
        number += 1
        equal_rows = [row for row in source if row[:3] == person[:3]]
        for name, rows in (("value", fits), ("mode", safe), ("raw", equal_rows)):
            stored_counts = Counter(row[3] for row in rows if row[3])
            right[name] += (
                max(stored_counts, key=lambda v: (stored_counts[v], common[v], [-ord(c) for c in v])) == person[3]
            )
    linkage = attack_numbers(Page(custodians), "registered")
    assert linkage["linked"][0] == str(len(source)) and linkage["candidates least"][0] == str(min(fitting))
    assert linkage["candidates median"][0] == str(sorted(fitting)[(len(fitting) - 1) // 2])
    assert linkage["exact matches"][0] == str(fitting.count(1))
    inference = attack_numbers(Page(custodians), "accuracy")
    assert inference["accuracy"] == [format_share(right[name] / number) for name in ("value", "mode", "raw")]
    assert inference["asked"][0] == str(number)
    message = Page(custodians).text
    assert f"disease: {inference['accuracy'][0]} of the guesses are right" in message
    least, median = linkage["candidates least"][0], linkage["candidates median"][0]
    assert f"fits at least {least} record{'' if least == '1' else 's'}, and {median} in the median" in message
    assert "numbers of linkage" not in outgoing and "numbers of inference" not in outgoing
    assert "of the guesses are right" not in outgoing and "guesses from the class" not in outgoing
    assert "that fit exactly one released record" not in outgoing and "guesses from the class" in custodians


def test_report_samples_attacks_for_many_classes(clinic: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    con, _, custodians, _ = clinic
    assert "this was tried with" not in custodians
    monkeypatch.setattr(attacks, "MAX_PAIRS", 1)
    monkeypatch.setattr(attacks, "MIN_SAMPLE", 30)
    page = Page(dbanon.report(con, "safe"))
    assert page.text.count("this was tried with 30 records, drawn by a hash") == 2
    assert "30 of 30 records of the source fit" in page.text
    assert len([sql for sql in page.queries.values() if "sample := 30" in sql]) == 2
    assert attack_numbers(page, "registered")["tried"] == ["30", "NULL", "30"]
    assert check_numbers(page, con) > 150


def test_report_equal_from_sql_python_and_command_line(clinic: Any, tmp_path: Path) -> None:
    con, path, _, outgoing = clinic
    con.execute(
        f"COPY (SELECT encode(html) FROM report('safe', outgoing = true)) TO '{tmp_path / 'a.html'}' (FORMAT blob)"
    )
    assert without_date((tmp_path / "a.html").read_text("utf-8")) == without_date(outgoing)
    assert dbanon.report(con, "safe", tmp_path / "b.html", outgoing=True) == tmp_path / "b.html"
    assert without_date((tmp_path / "b.html").read_text("utf-8")) == without_date(outgoing)
    with pytest.raises(errors.TargetExistsError, match=r"^report: .*b\.html'? exists already"):
        dbanon.report(con, "safe", tmp_path / "b.html")
    with pytest.raises(errors.TargetInUseError, match="report"):
        dbanon.report(con, "safe", path, overwrite=True)
    with pytest.raises(errors.WriteFailedError, match="no such folder"):
        dbanon.report(con, "safe", tmp_path / "nowhere" / "b.html")


@pytest.mark.parametrize("outgoing", [pytest.param(False, marks=pytest.mark.not_everyday), True])
def test_report_unaffected_by_session_settings_and_macros(clinic: Any, outgoing: bool, tmp_path: Path) -> None:
    con = clinic[0]
    page = dbanon.report(con, "safe", outgoing=outgoing)  # made here: other tests publish files of this release
    other = con.cursor()
    try:
        for setting in (
            "integer_division = true", "default_null_order = 'nulls_first'", "default_order = 'DESC'", "threads = 1",
        ):  # fmt: skip
            other.execute(f"SET {setting}")
        other.execute("CREATE MACRO count(a) AS 77")
        assert without_date(dbanon.report(other, "safe", outgoing=outgoing)) == without_date(page)
    finally:
        for name in ("integer_division", "default_null_order", "default_order", "threads"):
            other.execute(f"RESET {name}")
        other.execute("DROP MACRO IF EXISTS count")
        other.close()
