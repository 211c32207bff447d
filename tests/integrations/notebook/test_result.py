"""A notebook result: text columns are aligned to the left with their headings, numbers to the right."""

import re

import pyarrow as pa

from dbanon.integrations.notebook.result import NotebookResult

RESULT = NotebookResult(
    pa.table({"name": ["Bo", "Annabel"], "n": [5, 12345], "city": ["Oslo", "東京"], "x": [1.5, None]})
)


def test_text_form_aligns_text_left_and_numbers_right() -> None:
    assert repr(RESULT).splitlines() == [
        "name         n  city     x",
        "Bo           5  Oslo   1.5",
        "Annabel  12345  東京  NULL",
        "2 rows",
    ]


def test_html_form_aligns_headings_with_cells() -> None:
    rows = re.findall(r"<tr>(.*?)</tr>", RESULT._repr_html_())
    for row in rows:
        assert re.findall(r"text-align: (\w+)", row) == ["left", "right", "left", "right"]
    assert len(rows) == 3


def test_text_form_of_no_rows_is_their_number() -> None:
    assert repr(NotebookResult(pa.table({"a": pa.array([], pa.string())}))) == "0 rows"
