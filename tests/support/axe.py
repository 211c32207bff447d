"""The findings of axe-core about a page in a headless browser; skipped without axe-core or a browser."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from support import browser

VARIABLE = "DBANON_AXE"
"""The environment variable with the path of axe.min.js."""

_RUN = """
const report = findings => {
  const out = document.createElement('pre');
  out.id = 'found';
  out.textContent = JSON.stringify(findings);
  document.body.replaceChildren(out);
};
axe.run(document, {resultTypes: ['violations']}).then(
  result => report(result.violations.map(v => [v.impact, v.id, v.nodes.map(n => n.html.slice(0, 120))])),
  problem => report([['critical', String(problem), []]]));
"""


def script() -> str:
    """Return axe-core: the file that the environment names, or that of axe-playwright-python; skips without either."""
    path = Path(os.environ.get(VARIABLE, "node_modules/axe-core/axe.min.js"))
    package = find_spec("axe_playwright_python")
    if not path.is_file() and package is not None and package.origin is not None:
        path = Path(package.origin).with_name("axe.min.js")
    if not path.is_file():
        pytest.skip(f"no axe-core: {VARIABLE} names no file, and axe-playwright-python is not installed")
    return path.read_text("utf-8")


def serious_findings(page: str, folder: Path) -> list[Any]:
    """Return the serious and critical findings about a page, which are its impact, its rule and its elements."""
    code = script()
    # The policy of the page forbids scripts; axe is one.
    page = re.sub('<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    tested = folder / "tested.html"
    scripts = f"<script>{code}</script><script>{_RUN}</script>"
    tested.write_text(page.replace("</body>", f"{scripts}</body>"), encoding="utf-8")
    ran = subprocess.run(
        [browser.find_browser(), *browser.QUIET, f"--user-data-dir={folder / 'axe'}", "--virtual-time-budget=20000",
         "--window-size=1280,1000", "--dump-dom", tested.as_uri()],
        capture_output=True, text=True, timeout=240, check=False,
    )  # fmt: skip
    match = re.search(r'<pre id="found">(.*?)</pre>', ran.stdout, re.DOTALL)
    assert match, f"axe found nothing to say: {ran.stderr[-500:]}"
    found: list[Any] = json.loads(html.unescape(match.group(1)))
    return [finding for finding in found if finding[0] in ("serious", "critical")]
