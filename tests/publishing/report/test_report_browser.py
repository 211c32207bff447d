"""A report in a browser: nothing is wider than a phone, all texts can be read, nothing is asked of a network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import browser

NETWORK = """<!DOCTYPE html><html><head><meta http-equiv="Content-Security-Policy" content="default-src 'none';
style-src 'unsafe-inline'"></head><body style="background:#fff;color:#aaa"><p style="width:600px">pale and wide</p>
<script>alert(1)</script><img src="https://example.invalid/a.png"></body></html>"""


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("form", ["custodian", "outgoing"])
def test_a_page_fits_a_phone_and_is_read_in_light_and_dark(clinic: Any, form: str, dark: bool, tmp_path: Path) -> None:
    seen = browser.look(clinic[3 if form == "outgoing" else 2], tmp_path, dark=dark)
    assert seen.console == []
    for width, at in seen.at.items():
        assert at["width"] == width and at["needed"] <= width, at
        assert at["wide"] == [] and at["pale"] == [] and at["asked"] == []
        assert at["texts"] > 200
        assert (sum(map(int, at["background"][4:-1].split(", "))) < 150) == dark
    assert seen.at[360]["boxes"] > 5, "wide tables and SQL scroll by themselves"


def test_the_browser_notices_what_is_wrong(tmp_path: Path) -> None:
    seen = browser.look(NETWORK, tmp_path)
    assert len(seen.console) >= 2 and any("https://example.invalid" in line for line in seen.console)
    at = seen.at[360]
    assert at["needed"] > 360 and at["wide"] == ["P: pale and wide"]
    assert at["pale"] == [["pale and wide", 2.32]] and at["asked"] == ["https://example.invalid/a.png"]
