"""A page in a real headless browser: its layout at some widths, its contrasts, and its requests.

The page runs no script of its own, and its policy forbids any. It is shown in a frame of a page that measures it.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
)  # fmt: skip

_PROBE = r"""
function luminance(c) {
  const [r, g, b] = c.map(v => { v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
function rgb(text) {
  const n = (text.match(/[\d.]+/g) || []).map(Number);
  return {c: n.slice(0, 3), a: n.length > 3 ? n[3] : 1};
}
function behind(view, element) {
  for (let e = element; e; e = e.parentElement) {
    const b = rgb(view.getComputedStyle(e).backgroundColor);
    if (b.a === 1) return b.c;
  }
  return [255, 255, 255];
}
function measured(frame) {
  const view = frame.contentWindow, page = frame.contentDocument, root = page.documentElement;
  const words = page.createTreeWalker(page.body, 4), pale = [];
  let texts = 0;
  while (words.nextNode()) {
    const e = words.currentNode.parentElement, said = words.currentNode.data.trim();
    if (!said || !e.getClientRects().length) continue;
    const style = view.getComputedStyle(e);
    const ink = rgb(e.namespaceURI.endsWith('svg') ? style.fill : style.color);
    const [x, y] = [luminance(ink.c), luminance(behind(view, e))].sort((a, b) => b - a);
    const ratio = ink.a < 1 ? 0 : (x + 0.05) / (y + 0.05);
    const size = parseFloat(style.fontSize), large = size >= 24 || (size >= 18.66 && style.fontWeight >= 700);
    texts += 1;
    if (ratio < (large ? 3 : 4.5)) pale.push([said.slice(0, 40), Math.round(ratio * 100) / 100]);
  }
  const scrolls = e => { for (; e; e = e.parentElement)
    if (['auto', 'scroll', 'hidden'].includes(view.getComputedStyle(e).overflowX) && e !== root && e !== page.body)
      return true; return false; };
  const wide = [...page.querySelectorAll('body *')].filter(e => e.getClientRects().length
    && e.getBoundingClientRect().right > root.clientWidth + 0.5 && !scrolls(e.parentElement));
  return {width: root.clientWidth, needed: root.scrollWidth, texts, pale,
    wide: wide.map(e => e.tagName + ': ' + e.textContent.trim().slice(0, 40)),
    boxes: [...page.querySelectorAll('.box, pre')].filter(e => e.scrollWidth > e.clientWidth).length,
    background: view.getComputedStyle(root).backgroundColor,
    tags: [...new Set([...page.querySelectorAll('*')].map(e => e.localName))],
    asked: view.performance.getEntriesByType('resource').map(e => e.name)};
}
addEventListener('load', () => {
  const said = JSON.stringify([...document.querySelectorAll('iframe')].map(measured));
  document.body.innerHTML = '';
  const out = document.createElement('pre');
  out.id = 'measured';
  out.textContent = said;
  document.body.append(out);
});
"""


@dataclass(frozen=True)
class PageMeasurement:
    """The measurements at each width, and the messages of the browser's console."""

    at: dict[int, dict[str, Any]]
    console: list[str]


def find_browser() -> str:
    """Return the browser; the test is skipped where there is none."""
    path = next((path for name in NAMES if (path := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no browser on the PATH: none of {', '.join(NAMES)}")
    return path


def measure_page(
    page: str, folder: Path, widths: tuple[int, ...] = (360, 1100), *, dark: bool = False
) -> PageMeasurement:
    """Show a page at some widths, in pixels, in a new profile in `folder`; return the measurements."""
    frames = "".join(
        f'<iframe style="border:0;width:{width}px;height:900px" srcdoc="{html.escape(page)}"></iframe>'
        for width in widths
    )
    outer = folder / "outer.html"
    outer.write_text(f"<!DOCTYPE html><meta charset=utf-8><body>{frames}<script>{_PROBE}</script>", encoding="utf-8")
    ran = subprocess.run(
        [find_browser(), *QUIET, f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr",
         f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--virtual-time-budget=5000",
         "--window-size=1200,1000", "--dump-dom", outer.as_uri()],
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    match = re.search(r'<pre id="measured">(.*?)</pre>', ran.stdout, re.DOTALL)
    assert match, f"the browser measured nothing: {ran.stderr[-500:]}"
    measured_document = json.loads(html.unescape(match.group(1)))
    console = [line for line in ran.stderr.splitlines() if ":CONSOLE" in line]
    return PageMeasurement(dict(zip(widths, measured_document, strict=True)), console)


def printed_pages(page: str, folder: Path) -> int:
    """Return the number of sheets that the browser prints a page on."""
    source, target = folder / "printed.html", folder / "printed.pdf"
    source.write_text(page, encoding="utf-8")
    subprocess.run(
        [find_browser(), *QUIET, f"--user-data-dir={folder / 'print'}", "--no-pdf-header-footer",
         f"--print-to-pdf={target}", source.as_uri()],
        capture_output=True, timeout=120, check=False,
    )  # fmt: skip
    return len(re.findall(rb"/Type\s*/Page\b(?!s)", target.read_bytes()))
