"""Reports of releases of every form, with hostile names, after changes, and of tables that are no releases."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
from support.report_pages import SOURCE, Page, build, check_numbers, without_date

import dbanon
from dbanon import errors
from dbanon.publishing.report import attacks, classes
from dbanon.sqltext.quote import qualified

HOSTILE = """x'); DROP TABLE t; --<script>alert(1)</script>"""
COLUMNS = ('a"<img src=x onerror=alert(1)>$\\frac{1}$ {} {{7*7}}', "😀\u202ertl\nline", "L" * 300, "size",
           "</style><script>", "value")  # fmt: skip
CELLS = ("<script>alert(2)</script>", "😀 ☃", "'\"&amp;", "V" * 5000, None, "</svg></pre><script>", "", "a\tb")


def test_report_escapes_hostile_names_and_values(tmp_path: Path) -> None:
    r = random.Random(1)
    with dbanon.connect(tmp_path / "hostile.duckdb") as con:
        con.execute(f"CREATE SCHEMA {qualified('s<b>')}")
        source, safe = (str(qualified("s<b>", name)) for name in (HOSTILE, 'safe<i>&"rel{}'))
        types = ("INTEGER", "DOUBLE", "VARCHAR", "DATE", "VARCHAR", "BOOLEAN")
        columns = ", ".join(f"{qualified(c)} {t}" for c, t in zip(COLUMNS, types, strict=True))
        con.execute(f"CREATE TABLE {source} ({columns})")
        con.executemany(
            f"INSERT INTO {source} VALUES (?, ?, ?, ?, ?, ?)",
            [
                (r.choice([None, *range(40)]), r.choice([None, 1.5, -0.0, float("inf")]), r.choice(CELLS),
                 r.choice(["1890-01-01", "1969-12-31", "2020-02-29"]), r.choice(CELLS), r.choice([True, False, None]))
                for _ in range(120)
            ],
        )  # fmt: skip
        con.execute(f"DELETE FROM {source} WHERE isinf({qualified(COLUMNS[1])})")
        dbanon.declare(con, source, **dict(zip(COLUMNS, ["quasi"] * 4 + ["sensitive"] * 2, strict=True)))
        dbanon.create_release(con, safe, "mondrian", source, k=4, alpha=0.9)
        for outgoing in (False, True):
            page = dbanon.report(con, safe, outgoing=outgoing)
            read = Page(page)
            assert not read.tags & {"script", "img", "b", "iframe", "object", "form"}
            assert not any(name.startswith("on") for _, name, _ in read.attributes)
            links = {value for _, name, value in read.attributes if name.endswith(("href", "src"))}
            assert all(value and value.startswith(("#", "data:,")) for value in links)
            outside_of_sql = re.sub("<code>.*?</code>", "", page, flags=re.DOTALL)
            assert "\u202e" not in outside_of_sql and "rtl\nline" not in outside_of_sql
            assert page.count("<style") == page.count("</style>") == 1
            assert (HOSTILE in read.text) != outgoing
            assert "V" * 241 not in page


def test_report_svg_texts_use_page_colours(clinic: Any) -> None:
    pictures = re.findall(r"<svg.*?</svg>", clinic[2], re.DOTALL)
    assert len(pictures) >= 5
    for picture in pictures:
        assert set(re.findall(r"(?:fill|stroke): ?([^;\"]+)", picture)) <= {
            "none", "var(--ink)", "var(--grid)", "var(--first)", "var(--second)", "#ffffff",
        }  # fmt: skip
        assert "var(--ink)" in picture and "<image" not in picture and "<text" in picture
    ids = re.findall(r' id="([^"]*)"', clinic[2])
    assert len(ids) == len(set(ids))


def test_report_omits_source_sections_if_source_changed(clinic: Any, tmp_path: Path) -> None:
    assert "have changed since this version" not in clinic[2]
    with build(tmp_path / "clinic.duckdb") as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, k=5)
        old_report = dbanon.report(con, "safe", outgoing=True)
        con.execute(f"UPDATE {SOURCE} SET town = 'Elsewhere' WHERE surname = 'Surname3x'")
        stale = dbanon.report(con, "safe")
        assert "have changed since this version was released" in stale
        read = Page(stale)
        assert not re.search("query_error|attack_summary|distortion", " ".join(read.queries.values()))
        assert not any(SOURCE in sql for sql in read.queries.values()) and "Elsewhere" not in stale
        assert "No attack was tried: the source has changed since the release" in read.text
        assert without_date(dbanon.report(con, "safe", outgoing=True)) == without_date(old_report)
        con.execute(f"UPDATE {SOURCE} SET town = 'Wexbury' WHERE town = 'Elsewhere'")
        con.execute(f"DROP TABLE {SOURCE}")
        assert without_date(dbanon.report(con, "safe")) == without_date(stale)
        con.execute("UPDATE safe SET disease = 'Zyxoma'")
        for outgoing in (False, True):
            with pytest.raises(errors.ReleaseChangedError, match=r"^report: safe is not what was released"):
                dbanon.report(con, "safe", outgoing=outgoing)
        with pytest.raises(duckdb.Error, match="report: safe is not what was released"):
            con.execute("FROM report('safe')")


def test_report_describes_published_version(tmp_path: Path) -> None:
    with build(tmp_path / "clinic.duckdb") as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, k=5)
        with pytest.warns(dbanon.DisclosureWarning):
            dbanon.create_release(con, "safe", "mondrian", SOURCE, k=6, replace=True, allow_small_differences=True)
        facts = Page(dbanon.report(con, "safe", outgoing=True)).facts
        assert facts["release", "version"][0] == "2" and facts["parameters", "k"][0] == "6"
        dbanon.drop_release(con, "safe")
        with pytest.raises(errors.UnknownReleaseError, match=r"^report: there is no published release safe"):
            dbanon.report(con, "safe")


def test_report_of_missing_release_refused(clinic: Any) -> None:
    con = clinic[0]
    with pytest.raises(errors.UnknownReleaseError, match=r"^report: .* no published release sfe\. Did you mean 'safe'"):
        dbanon.report(con, "sfe")
    con.execute("CREATE TABLE plain AS SELECT 1 AS a")
    con.execute(f"CREATE TABLE noisy AS FROM rka('{SOURCE}', k=5, release='noise', nulls='drop', "
                "withhold=['born'])")  # fmt: skip
    for name in ("plain", "noisy", SOURCE):
        with pytest.raises(duckdb.Error, match=f"report: there is no published release {name}"):
            con.execute(f"FROM report('{name}')")
    con.execute("DROP TABLE plain")
    con.execute("DROP TABLE noisy")
    with pytest.raises(errors.InvalidArgumentError, match="connection"):
        dbanon.report("clinic.duckdb", "safe")  # type: ignore[arg-type]
    with pytest.raises(errors.UnusedArgumentError, match="population"):
        dbanon.report(con, "safe", outgoing=True, population=SOURCE)
    with pytest.raises(errors.UnknownTableError, match=r"report: .*nobody"):
        dbanon.report(con, "safe", population="nobody")
    with pytest.raises(duckdb.Error, match="outgoing must be"):
        con.execute("FROM report('safe', outgoing := 3)")


CALLS: list[dict[str, Any]] = [
    {"k": 3, "l": 2, "person": "pid", "suppress": 0.1},
    {"k": 3, "intervals": "bounds", "nulls": "drop"},
    {"k": 4, "intervals": "struct", "t": 0.9},
    {"k": 2, "withhold": ["disease", "ward"]},
    {"k": 80},
]


@pytest.mark.not_everyday
@pytest.mark.filterwarnings("ignore::dbanon.UtilityWarning")  # one class
@pytest.mark.parametrize("call", CALLS, ids=lambda call: "-".join(call))
def test_every_form_of_release_has_correct_report(call: dict[str, Any], tmp_path: Path) -> None:
    with build(tmp_path / "clinic.duckdb", rows=90) as con:
        dbanon.create_release(con, "safe", "mondrian", SOURCE, **call)
        page = dbanon.report(con, "safe", population=SOURCE)
        assert "could not be" not in page
        read = Page(page)
        assert check_numbers(read, con) > 60
        assert "journalist highest" in read.text
        outgoing = dbanon.report(con, "safe", outgoing=True)
        dbanon.publish(con, "safe", tmp_path / "safe.duckdb", classes=True)
    with duckdb.connect(tmp_path / "safe.duckdb", read_only=True) as plain_con:
        check_numbers(Page(outgoing), plain_con)


def test_report_states_guesses_about_zero_people() -> None:
    """Numbers that are 0 are omitted from the table."""
    result_sentences = attacks._result_sentences(
        [("age", "guesses", 17, "how many"), ("age", "actual_accuracy", 0.5, "how many of them are right")]
    )
    assert "17 guesses reach the threshold, about 0 people; 50% of the guesses are right" in result_sentences


def test_report_texts_count_one_in_the_singular() -> None:
    guess = [("age", "guesses", 1, ""), ("age", "exposed_people", 1, ""), ("age", "actual_accuracy", 1.0, "")]
    assert attacks._result_sentences(guess).startswith("age: 1 guess reaches the threshold, about 1 person; 100% of")
    tight = [("age", "guesses", 0, ""), ("age", "known", 1, "")]
    expected = "No guess reaches the threshold. age: 1 record is certainly at an end, of an unknown person."
    assert attacks._result_sentences(tight) == expected
    assert classes._worst_caption("age", 1) == "age: 1 class with the greatest share of one value"
