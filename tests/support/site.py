"""The documentation site, built once and served on this machine, in a headless browser.

Tests with it are skipped without the extra `docs-test` or without Chromium.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from support import axe, browser, documents, generated

EXTRA = ("mkdocs", "material", "mkdocstrings", "playwright")
"""The packages of the extra `docs-test` without which there is no site or no browser."""


def require_tools() -> None:
    """Skip the test unless the extra `docs-test` and a browser are installed."""
    missing = [name for name in EXTRA if find_spec(name) is None]
    if missing:
        pytest.skip(f"the extra docs-test is not installed: no {', '.join(missing)}")
    browser.find_browser()


def build_site(folder: Path) -> None:
    """Write the manual and build the site strictly into a folder; warnings are errors."""
    generated.write_manual()
    ran = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=documents.ROOT, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr[-3000:]


class _QuietHandler(SimpleHTTPRequestHandler):
    """A handler of requests for files that logs nothing."""

    def log_message(self, format: str, *args: Any) -> None:
        pass


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """Serve the files of a folder to this machine; yields the address, which ends with a slash."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_QuietHandler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class Visitor:
    """A reader of the site in a browser window, with the problems that occurred."""

    def __init__(self, page: Any, address: str) -> None:
        self.page = page
        self.address = address
        self.problems: list[str] = []
        page.on("request", self._check_request)
        page.on("response", self._check_response)
        page.on("requestfailed", lambda request: self.problems.append(f"failed: {request.url}"))
        page.on("pageerror", lambda error: self.problems.append(f"script: {error}"))

    def open(self, path: str) -> None:
        """Open a page of the site."""
        self.page.goto(self.address + path)
        self.check_page()

    def follow(self, path: str) -> None:
        """Click the link to a page in the text of the current one."""
        self.page.locator(f'article a[href="{path}"]').first.click()
        self.page.wait_for_url(f"**/{path.removeprefix('../')}")
        self.check_page()

    def search(self, words: str) -> Any:
        """Type words into the search; return the first result, when it is there."""
        if self.page.viewport_size["width"] < 600:
            self.page.locator('header label[for="__search"]').first.click()
        else:
            self.page.keyboard.press("s")
        self.page.keyboard.type(words, delay=30)
        result = self.page.locator(".md-search-result__link").first
        result.wait_for(state="visible")
        return result

    def check_page(self) -> None:
        """Note images that are missing, and whether the page is wider than the window."""
        self.page.wait_for_load_state("networkidle")
        self.problems += self.page.evaluate(
            "[...document.images].filter(i => !i.complete || !i.naturalWidth).map(i => 'missing image: ' + i.src)"
        )
        width, needed = self.page.evaluate("[innerWidth, document.documentElement.scrollWidth]")
        if needed > width:
            self.problems.append(f"{self.page.url} needs {needed} pixels of {width}")

    def serious_findings(self) -> list[Any]:
        """Return the serious and critical findings of axe-core about the current page; skips without axe-core."""
        self.page.evaluate(axe.script())
        findings = self.page.evaluate(
            "axe.run(document, {resultTypes: ['violations']}).then(result => result.violations.map("
            "v => [v.impact, v.id, v.nodes.map(n => n.failureSummary.slice(-240) + n.html.slice(0, 100))]))"
        )
        return [finding for finding in findings if finding[0] in ("serious", "critical")]

    def _check_request(self, request: Any) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in ("data", "blob") and f"{parts.scheme}://{parts.netloc}/" != self.address:
            self.problems.append(f"another host: {request.url}")

    def _check_response(self, response: Any) -> None:
        if response.status >= 400:
            self.problems.append(f"{response.status}: {response.url}")


@contextmanager
def visit(address: str, width: int, *, dark: bool = False) -> Iterator[Visitor]:
    """Yield a reader with a window of so many pixels, who prefers light or dark pages."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as tools:
        program = tools.chromium.launch(executable_path=browser.find_browser(), args=list(browser.QUIET))
        context = program.new_context(
            viewport={"width": width, "height": 900}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
        )
        context.set_default_timeout(90_000)  # milliseconds: the machine may be busy
        yield Visitor(context.new_page(), address)
        context.close()
        program.close()


def index_locations(folder: Path) -> set[str]:
    """Return the pages that the search knows, without their sections."""
    index = json.loads((folder / "search" / "search_index.json").read_text(encoding="utf-8"))
    return {entry["location"].partition("#")[0] for entry in index["docs"]}
