"""The documentation as a site: built twice with equal bytes, without a dead link, and opened in a browser."""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from importlib.util import find_spec
from pathlib import Path
from threading import Thread
from urllib.parse import unquote, urlsplit

from release.archives import write_archive
from release.programs import ReleaseError, run_program

_BROWSERS = ("chromium", "chromium-browser", "google-chrome")
_PAGE_TIMEOUT_MS = 30_000


class SiteError(ReleaseError):
    """A page of the site has a dead link, or cannot be opened."""


class _Page(HTMLParser):
    """The ids and the links of a page."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.ids = set[str]()
        self.links: list[str] = []
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if name == "id" and value:
                self.ids.add(value)
            if name in ("href", "src") and value:
                self.links.append(value)


def build_site(zensical: Path, source: Path) -> Path:
    """Build the site of a source folder and return its folder. Raises ProgramError."""
    run_program(zensical, "build", "--strict", "--clean", "--config-file", "mkdocs.yml", folder=source)
    return source / "build/site-page"


def pack_site(folder: Path, target: Path, time: int) -> None:
    """Write the files of a site to an archive in which each file has the time `time`, in seconds."""
    files = (file for file in folder.rglob("*") if file.is_file())
    write_archive(target, {file.relative_to(folder).as_posix(): file.read_bytes() for file in files}, time)


def try_site(archive: Path, home: Path) -> str:
    """Unpack a site, check its links, and open its first and its largest page in Chromium, if there is one.

    Return a summary. Raises SiteError.
    """
    with zipfile.ZipFile(archive) as files:
        files.extractall(home)
    pages = {file: _Page(file) for file in sorted(home.glob("*.html"))}
    dead_links = [
        f"{file.name}: {link}"
        for file, page in pages.items()
        for link in page.links
        if not _is_valid(link, file, home, pages)
    ]
    if dead_links:
        raise SiteError(f"{len(dead_links)} dead links, such as {', '.join(dead_links[:5])}")
    link_count = sum(len(page.links) for page in pages.values())
    # The generator gives all pages the same scripts and styles.
    largest = max(pages, key=lambda file: file.stat().st_size)
    opened = _open_pages(home, [home / "index.html", largest])
    return f"{len(pages)} pages with {link_count} links, none dead; {opened}"


def _is_valid(link: str, file: Path, home: Path, pages: dict[Path, _Page]) -> bool:
    """Return True if a link leads to a file of the site and to an id in it; other hosts are not requested."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    path = unquote(parts.path)
    start = home if path.startswith("/") else file.parent
    target = Path(os.path.normpath(start / path.lstrip("/"))) if path else file
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return False
    return not parts.fragment or target not in pages or unquote(parts.fragment) in pages[target].ids


def _open_pages(home: Path, pages: list[Path]) -> str:
    """Open each page, and return a summary. Raises SiteError for an error of a page or of a file of it."""
    executable = next(filter(None, map(shutil.which, _BROWSERS)), None)
    if executable is None or find_spec("playwright") is None:
        return "not opened in a browser, because Chromium or Playwright is missing"
    from playwright.sync_api import Error, sync_playwright

    messages: list[str] = []
    with _serve(home) as address, sync_playwright() as playwright:
        # The sandbox is not available to root.
        options = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = playwright.chromium.launch(executable_path=executable, args=options)
        page = browser.new_page()
        page.set_default_timeout(_PAGE_TIMEOUT_MS)
        page.on("pageerror", lambda error: messages.append(f"{page.url}: {error}"))
        # Requests that the next page aborts are no errors; a missing file is a response.
        page.on(
            "response",
            lambda reply: messages.append(f"{reply.url}: {reply.status}") if reply.status >= 400 else None,
        )
        page.on("console", lambda text: messages.append(text.text) if text.type == "error" else None)
        try:
            for file in pages:
                page.goto(f"{address}/{file.name}", wait_until="load")
                if not page.locator("h1").first.inner_text().strip():
                    messages.append(f"{file.name} has no heading")
        except Error as error:
            messages.append(str(error))
        browser.close()
    if messages:
        raise SiteError(f"pages of the site have errors: {'; '.join(messages[:5])}")
    return f"{' and '.join(file.name for file in pages)} opened in Chromium"


class _Handler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *values: object) -> None:
        """Write no line for a request."""


@contextmanager
def _serve(folder: Path) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(_Handler, directory=str(folder))) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
