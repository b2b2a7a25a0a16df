"""The page of a document: its text, its context, and redirects of its URL."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from docyard.web.documents.document import SectionLinks, add_page_links
from docyard.web.live import format_unfinished_version
from tests.docyard.web.documents.page_setup import DocumentPages, serve_documents
from tests.loops import loop_over
from workspace.edits.text import UpdateContent
from workspace.rendering.links import RenderedDocument, RenderedHeading
from workspace.writing.plan import BatchMode


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentPages]:
    """Return shared pages for tests that only read."""
    with serve_documents(tmp_path_factory.mktemp("read") / "repo") as shared_pages:
        shared_pages.site.index().links.update_to(shared_pages.workspace.snapshot())
        yield shared_pages


@pytest.fixture
def writable_pages(tmp_path: Path) -> Iterator[DocumentPages]:
    """Return pages that a test may change."""
    with serve_documents(tmp_path / "repo") as new_pages:
        yield new_pages


class _PageShape(HTMLParser):
    """The ids of a page, the number of its titles, and its unclosed tags."""

    _VOID_ELEMENTS = frozenset({"meta", "link", "input", "br", "img", "hr", "path", "circle", "rect"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.title_count = 0
        self.open_tags: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Record an element."""
        self.ids += [value for name, value in attrs if name == "id" and value]
        self.title_count += tag == "h1"
        if tag not in self._VOID_ELEMENTS:
            self.open_tags.append(tag)
        assert not [name for name, _ in attrs if name.startswith("on") or name == "style"]

    def handle_endtag(self, tag: str) -> None:
        """Close the last open element."""
        if tag not in self._VOID_ELEMENTS:
            assert self.open_tags.pop() == tag


PAGE_URLS = (
    "/doc/README.md",
    "/doc/specs/api.md",
    "/doc/specs/crlf.md",
    "/doc/specs/twice.md",
    "/doc/odd/a%20b%23c%3F.md",
    "/history/specs/api.md",
    "/history/specs/api.md?section=rate-limits",
    "/blame/specs/api.md",
    "/blame/specs/api.md?section=endpoints",
    "/commit/HEAD",
    "/commit/HEAD?view=inline",
    "/edit/specs/api.md",
    "/edit/specs/api.md?section=rate-limits",
)


@loop_over("url", PAGE_URLS)
def test_each_page_is_valid_html_with_one_title(pages: DocumentPages, url: str) -> None:
    shape = _PageShape(pages.get(url))
    assert (shape.title_count, shape.open_tags) == (1, [])
    assert len(set(shape.ids)) == len(shape.ids)


def test_document_page_shows_text_and_context(pages: DocumentPages) -> None:
    page = pages.get("/doc/specs/api.md")
    for expected_text in (
        "<title>Search &amp; find",
        '<a href="/folder/specs">specs</a>',
        '<span class="tag good">spec</span>',
        "1 of 2 tasks",
        '<h3 id="endpoints/errors">',
        'href="/edit/specs/api.md?section=endpoints%2Ferrors"',
        'href="/history/specs/api.md?section=rate-limits"',
        f'href="/commit/{pages.repo.head()}"',
        '<a href="/doc/README.md#_preamble">Handbook</a>',
    ):
        assert expected_text in page
    assert "type: spec" not in page


def test_document_title_is_escaped(pages: DocumentPages) -> None:
    page = pages.get("/doc/odd/a%20b%23c%3F.md")
    assert "<title>Odd &amp; ·" in page  # tags are removed from a title
    assert "Odd &amp; &lt;named&gt; <a" in page
    assert "/edit/odd/a%20b%23c%3F.md?section=" in page
    assert "/raw/odd/a%20b%23c%3F.md" in page


@loop_over(
    ("url", "target"),
    [
        ("/doc/specs", "/folder/specs"),
        ("/doc/notes.txt", "/raw/notes.txt"),
        ("/doc/specs?ref=HEAD", "/folder/specs?ref=HEAD"),
    ],
    ids=["folder", "text", "folder at a ref"],
)
def test_other_paths_redirect_to_folder_or_raw_file(pages: DocumentPages, url: str, target: str) -> None:
    assert pages.get_redirect(url) == target


INVALID_PATHS = {
    "unknown": "none.md",
    "similar": "specs/ap.md",
    "NUL": "a%00b.md",
    "outside": "%2e%2e/x.md",
    "dots within": "specs/%2e%2e/README.md",
    "bytes": "%ff%fe",
    "empty segment": "a//b.md",
    "very long": "x" * 5000,
    "line separator": "%E2%80%A8",
    "drive": "C:%5Cx.md",
    "git": ".git/config",
    "emoji": "%F0%9F%98%80",
}


@loop_over("path", INVALID_PATHS.values(), ids=INVALID_PATHS.keys())
@loop_over("kind", ["doc", "raw", "history", "blame", "edit"])
def test_invalid_path_returns_error_page(pages: DocumentPages, kind: str, path: str) -> None:
    response = pages.client.get(f"/{kind}/{path}")
    assert response.status_code in (404, 400)
    assert "<h1>" in response.text


@loop_over(
    "ref",
    ["nope", "a..b", "main%00", "HEAD~99", "@{1990-01-01}", "x" * 3000],
    ids=["unknown", "range", "NUL", "too old", "date before history", "long"],
)
@loop_over("kind", ["doc", "raw", "history", "blame"])
def test_invalid_ref_returns_error_page(pages: DocumentPages, kind: str, ref: str) -> None:
    response = pages.client.get(f"/{kind}/README.md?ref={ref}")
    assert response.status_code in (400, 404)
    assert "<h1>" in response.text


def test_moved_document_redirects_to_its_new_path(writable_pages: DocumentPages) -> None:
    (writable_pages.repo.path / "guides").mkdir()
    writable_pages.repo.git("mv", "specs/api.md", "guides/search.md")
    writable_pages.repo.commit({}, "Move the document")
    assert writable_pages.get_redirect("/doc/specs/api.md") == "/doc/guides/search.md"
    assert writable_pages.get_redirect("/raw/specs/api.md") == "/raw/guides/search.md"
    assert (
        writable_pages.get_redirect("/blame/specs/api.md?section=rate-limits")
        == "/blame/guides/search.md?section=rate-limits"
    )
    page = writable_pages.get("/history/guides/search.md")
    assert "renamed" in page
    assert "from specs/api.md" in page
    assert "no longer exists" in writable_pages.get("/history/specs/api.md")


def test_page_at_a_ref_links_to_it_without_edit_links(writable_pages: DocumentPages) -> None:
    first_commit = writable_pages.repo.head()
    writable_pages.repo.commit({"README.md": "# Handbook\n\nNo link any more.\n"})
    page = writable_pages.get(f"/doc/README.md?ref={first_commit}")
    assert f'href="/doc/specs/api.md?ref={first_commit}#rate-limits"' in page
    assert "/edit/" not in page
    assert "No link any more" in writable_pages.get("/doc/README.md")


def test_edit_links_of_a_proposal_target_the_proposal(writable_pages: DocumentPages) -> None:
    actor = writable_pages.site.build_actor(writable_pages.workspace, _make_caller())
    operation = UpdateContent(file="README.md", slug="_preamble", content="Begin here.")
    result = writable_pages.workspace.proposal_actions().propose(
        [operation], actor, mode=BatchMode.ALL, message="Reword", base_commit=writable_pages.repo.head()
    )
    assert result.proposal is not None
    id = result.proposal.id
    assert f'href="/proposals/{id}">Reword</a> would change' in writable_pages.get("/doc/README.md")
    assert "would change" not in writable_pages.get("/doc/specs/api.md")
    page = writable_pages.get(f"/doc/README.md?ref={id}")
    assert "Begin here." in page
    assert f"/edit/README.md?section=_preamble&amp;proposal={id}" in page


def _make_caller() -> object:
    from docyard.caller import Caller

    return Caller(None, "", True, False)


def test_large_document_is_truncated_with_a_note(writable_pages: DocumentPages) -> None:
    text = "# Large\n\n" + "".join(
        f"## Part {number}\n\n{'Words of it. ' * 40}\n\n" for number in range(3_000)
    )
    writable_pages.repo.commit({"large.md": text})
    page = writable_pages.get("/doc/large.md")
    assert len(page) < 2_500_000
    assert "Read the full source" in page


def test_document_over_the_limit_has_an_explanation(writable_pages: DocumentPages) -> None:
    limits = "[limits]\ndocument_bytes = 100000\n"
    writable_pages.repo.commit({"docyard.toml": limits, "huge.md": "# Huge\n\n" + "word " * 30_000})
    page = writable_pages.get("/doc/huge.md")
    assert "too large for a page: huge.md has 150,008 bytes" in page
    assert 'href="/raw/huge.md"' in page
    assert writable_pages.client.get("/edit/huge.md").status_code in (400, 413)


def test_read_only_page_has_no_edit_links(tmp_path: Path) -> None:
    with serve_documents(tmp_path / "repo", read_only=True) as pages:
        assert "/edit/" not in pages.get("/doc/specs/api.md")


def test_raw_file_is_sent_unchanged(pages: DocumentPages) -> None:
    response = pages.client.get("/raw/specs/crlf.md")
    assert response.content.startswith(b"# Lines\r\n")
    assert response.headers["content-type"] == "text/plain; charset=utf-8"
    assert response.headers["x-content-type-options"] == "nosniff"


def test_raw_html_headings_get_no_links() -> None:
    html = '<h1 id="_preamble">T</h1><h2>Own</h2><h2 id="own">Own</h2><h2 id="a&quot;b">A</h2>'
    document = add_page_links(_make_rendered_document(html, "_preamble", 'a"b'), SECTION_LINKS)
    assert document.title == '<h1 id="_preamble">T</h1>'
    assert re.findall(r"/edit/[^\"]*", document.body) == ["/edit/a.md?section=a%22b"]
    assert document.body.startswith(
        '<h2>Own</h2><h2 id="own">Own</h2><div class="titled h2" data-entry><h2 id="a'
    )


@loop_over("level", [1, 2])
def test_nested_heading_is_unchanged(level: int) -> None:
    table = f"<table><tbody><tr><td><h{level}>x</h{level}></td></tr></tbody></table>"
    html = f'<h{level} id="a">T {table} y</h{level}>\n<p>End</p>'
    document = add_page_links(_make_rendered_document(html, "a"), SECTION_LINKS)
    assert (document.title, document.body) == (None, html)


SECTION_LINKS = SectionLinks("a.md", None, has_history=True, may_edit=True, proposal="")


def _make_rendered_document(html: str, *ids: str) -> RenderedDocument:
    return RenderedDocument(html, "T", True, tuple(RenderedHeading(2, id, id, id) for id in ids), False, ())


def test_section_ids_do_not_collide_with_page_ids(writable_pages: DocumentPages) -> None:
    text = '# T\n\n## Find\n\n## Keys\n\n## Content\n\n<p id="[find]">x</p>\n'
    writable_pages.repo.commit({"find.md": text})
    ids = _PageShape(writable_pages.get("/doc/find.md")).ids
    assert {"find", "keys", "content", "[find]", "[keys]", "[content]"} <= set(ids)
    assert len(set(ids)) == len(ids)


def test_cached_raw_file_returns_304(pages: DocumentPages) -> None:
    full_response = pages.client.get("/raw/notes.txt")
    etag = full_response.headers["etag"]
    cached_response = pages.client.get("/raw/notes.txt", headers={"If-None-Match": f'"other", W/{etag}'})
    assert (cached_response.status_code, cached_response.content, cached_response.headers["etag"]) == (
        304,
        b"",
        etag,
    )
    assert pages.client.get("/raw/README.md", headers={"If-None-Match": etag}).status_code == 200


def test_document_with_too_many_lines_has_an_explanation(writable_pages: DocumentPages) -> None:
    writable_pages.repo.commit({"long.md": "a\n" * 200_001})
    page = writable_pages.get("/doc/long.md")
    assert "200,001 lines" in page
    assert 'href="/raw/long.md"' in page


def _read_version(page: str) -> str:
    match = re.search(r'data-version="([^"]*)"', page)
    assert match
    return match[1]


def test_page_does_not_wait_for_a_long_history(
    writable_pages: DocumentPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(6):
        writable_pages.repo.commit({"notes.txt": f"{number}\n"})
    writable_pages.site.index().links.update_to(writable_pages.workspace.snapshot())
    monkeypatch.setattr("docyard.web.documents.sidebar._MAX_WALKED_COMMITS", 2)
    release_event = threading.Event()
    writable_pages.site.background.submit("another", lambda: release_event.wait(30))
    first_page = writable_pages.get("/doc/specs/api.md")
    assert "changed-by" not in first_page
    assert "/history/specs/api.md" in first_page
    assert _read_version(first_page) == format_unfinished_version(
        writable_pages.site.versions.get_current(writable_pages.workspace)
    )
    release_event.set()
    _wait_until(lambda: not writable_pages.site.has_background_work)
    second_page = writable_pages.get("/doc/specs/api.md")
    assert "changed-by" in second_page
    assert _read_version(second_page) == writable_pages.site.versions.get_current(writable_pages.workspace)


def test_page_does_not_wait_for_the_link_graph(
    writable_pages: DocumentPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docyard.web.documents.sidebar._MAX_SMALL_WORKSPACE_DOCUMENTS", 0)
    graph = writable_pages.site.index().links
    with graph._update_lock:  # another thread has the lock
        first_page = writable_pages.get("/doc/specs/api.md")
        assert "are being read" in first_page
        assert "Linked from" not in first_page
        assert _read_version(first_page).endswith("~")
    _wait_until(lambda: not writable_pages.site.has_background_work)
    second_page = writable_pages.get("/doc/specs/api.md")
    assert "are being read" not in second_page
    assert "Linked from" in second_page
    assert not _read_version(second_page).endswith("~")


def test_large_backlink_source_is_listed_without_reading_it(
    writable_pages: DocumentPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("docyard.web.documents.sidebar._MAX_READ_BYTES", 10)
    writable_pages.site.index().links.update_to(writable_pages.workspace.snapshot())
    page = writable_pages.get("/doc/specs/api.md")
    assert '<a href="/doc/README.md">README.md</a>' in page.replace("#_preamble", "")


def _wait_until(condition: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if condition():
            return
        time.sleep(0.01)
    raise AssertionError("the condition was not met in time")


@pytest.mark.process
def test_code_has_colours_when_they_are_known(writable_pages: DocumentPages) -> None:
    writable_pages.repo.commit({"code.md": "# Code\n\n```python\ndef run(): pass\n```\n"})
    first_page = writable_pages.get("/doc/code.md")
    assert "def" in first_page
    _wait_until(lambda: not writable_pages.site.code_colours.is_busy)
    assert '<span class="code-keyword">def</span>' in writable_pages.get("/doc/code.md")
