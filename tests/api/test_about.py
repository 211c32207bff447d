"""Python's own ways to inspect a release, and its display on a terminal."""

from __future__ import annotations

import re
import subprocess
import sys
from typing import Any

import duckdb
import pandas as pd
import pytest

import dbanon
from dbanon import errors
from dbanon.release.summary import ReleaseSummary

PEOPLE = pd.DataFrame(
    {
        "name_of_the_ward": ["North wing, second floor, behind the stairs"] * 8,
        "score": [0.1 + 0.2] * 8,
        "disease": ["Flu", "Flu", "Flu", "Flu", "Cold", "HIV", "Flu", "Cold"],
        "age": [21, 23, 24, 25, 61, 65, 66, 68],
        "born": [f"{2000 - age}-03-04" for age in (21, 23, 24, 25, 61, 65, 66, 68)],
    }
).astype({"born": "datetime64[us]"})
CALL: dict[str, Any] = {
    "k": 4, "qi": ["age", "born"], "sensitive": ["disease"], "insensitive": ["name_of_the_ward", "score"],
    "rounding": {"born": "year"},
}  # fmt: skip


@pytest.fixture(scope="module")
def anonymized() -> dbanon.Anonymized:
    return dbanon.anonymize(PEOPLE, "mondrian", **CALL)


def test_anonymized_repr_shows_head_and_metrics_in_80_columns(anonymized: dbanon.Anonymized) -> None:
    lines = repr(anonymized).splitlines()
    assert max(map(len, lines)) <= 80
    assert lines[0].split() == ["age", "born", "name_of_the_ward", "score", "disease", "class_id"]
    assert lines[1].split("  ")[:2] == ["[21, 25]", "[1975, 1979]"]
    assert "0.3" in lines[1] and "0.30000000000000004" not in repr(anonymized)
    assert lines[6] == "8 rows, 5 shown"
    assert [line.split()[0] for line in lines[8:]][:3] == ["records", "classes", "k"]
    assert len(lines) == 13
    assert list(anonymized.release.columns[:2]) == [
        "name_of_the_ward",
        "score",
    ]  # the frame itself is in the source's order
    assert anonymized.release["score"][0] == 0.1 + 0.2
    shown_html = anonymized._repr_html_()
    assert shown_html.index(">age</th>") < shown_html.index(">name_of_the_ward</th>")
    assert '<td style="text-align: left">[1975, 1979]</td>' in shown_html
    release, classes, _ = anonymized
    assert (len(release), len(classes)) == (8, 2)


def test_anonymized_repr_is_escaped_and_single_line() -> None:
    summary = ReleaseSummary(("q", "x"), (("[1, 2]", "<b>\n\x1b[2J"),), 3, ("q",), (("k", 2.0, "Size: in records."),))
    assert "<b>" not in summary.html() and "&lt;b&gt;" in summary.html()
    assert summary.text().splitlines()[1] == "[1, 2]  <b>  [2J"
    many_columns = ReleaseSummary(("q", *"abcdefgh"), (("[1, 2]", *["much text here"] * 8),), 1, ("q",), ())
    assert many_columns.text().splitlines()[2] == "1 row; 4 more columns: e, f, g, h"
    wide_columns = ReleaseSummary(("a", "b", "c"), (("x" * 50, "y" * 50, "z"),), 1, ("a", "b"), ())
    assert [line for line in wide_columns.text().splitlines() if "x" * 50 in line or "y" * 50 in line] == [
        "x" * 50, "y" * 50 + "  z",
    ]  # fmt: skip


def test_risk_attack_and_profile_accept_anonymized(anonymized: dbanon.Anonymized) -> None:
    risks = dbanon.risk(anonymized, source=PEOPLE).set_index("name")["value"]
    assert risks["prosecutor_highest"] == 0.25
    guesses = dbanon.attack(anonymized, kind="homogeneity", source=PEOPLE)
    assert guesses["guess"].tolist() == ["Flu"]
    assert dbanon.risk(anonymized, qi=["age"], sensitive=[]).set_index("name")["value"]["prosecutor_highest"] == 0.25
    assert dbanon.profile(anonymized).set_index("column_name")["proposed_role"]["disease"] == "sensitive"
    assert dbanon.profile(PEOPLE)["column_name"].tolist() == list(PEOPLE.columns)


def test_risk_attack_and_profile_accept_connection() -> None:
    with dbanon.connect() as con:
        con.register("people_frame", PEOPLE)
        con.execute("CREATE TABLE people AS SELECT row_number() OVER () AS id, * FROM people_frame")
        dbanon.declare(con, "people", id="person", age="quasi", disease="sensitive", score="insensitive")
        release = dbanon.create_release(con, "safe", "mondrian", "people", k=4)
        lines = repr(release).splitlines()
        assert lines[0] == "safe, version 1: 8 records in 2 classes"
        assert lines[1].split() == ["age", "score", "disease", "class_id"]
        assert max(map(len, lines)) <= 80
        assert ">age</th>" in release._repr_html_()
        risks = dbanon.risk(con, "safe")
        assert risks.equals(con.execute("FROM risk('safe')").df())
        assert dbanon.risk(con.raw, "safe").equals(risks)
        assert dbanon.attack(con, "safe", kind="homogeneity")["guess"].tolist() == ["Flu"]
        assert set(dbanon.profile(con, "people")["column_name"]) == {"id", *PEOPLE.columns}
        with pytest.raises(errors.MissingArgumentError, match="risk: release is missing"):
            dbanon.risk(con)
        with pytest.raises(errors.UnknownParameterError) as error_info:
            dbanon.risk(con, "safe", sorce="people")
        with pytest.raises((errors.UnknownParameterError, duckdb.Error)) as in_sql:
            con.execute("FROM risk('safe', sorce = 'people')")
        assert str(error_info.value) == str(in_sql.value)


def test_invalid_release_argument_is_named(anonymized: dbanon.Anonymized) -> None:
    with pytest.raises(errors.UnsupportedInputError, match="attack"):
        dbanon.attack(3, kind="homogeneity")
    with pytest.raises(
        errors.InvalidArgumentError, match=r"certificate: connection must be a connection: .*create_release"
    ):
        dbanon.certificate(anonymized, "safe")


def test_lazy_names_are_not_imported_early() -> None:
    seen_text = "import sys, dbanon; print(sorted({'duckdb', 'pandas', 'numpy', 'dbanon.api'} & set(sys.modules)))"
    completed = subprocess.run([sys.executable, "-c", seen_text], capture_output=True, text=True, check=True)
    assert completed.stdout.strip() == "[]"


def test_html_summary_aligns_numbers_to_the_right_and_text_to_the_left() -> None:
    summary = ReleaseSummary(("age", "class_id"), (("[1, 2]", 7),), 1, ("age",), (("k", 2.0, "Size."),))
    cells = re.findall(r'<td style="text-align: (\w+)">(.*?)</td>', summary.html())
    assert cells == [("left", "[1, 2]"), ("right", "7"), ("left", "k"), ("right", "2"), ("left", "Size.")]
