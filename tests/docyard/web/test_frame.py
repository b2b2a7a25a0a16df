"""Every page is valid HTML; forms are accepted only from the same session; errors suggest a fix."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import anyio
import pytest
from starlette.responses import Response
from starlette.routing import Route

from docyard.web.endpoints import run_in_thread
from docyard.web.errors import get_status
from docyard.web.routes import build_routes
from docyard.web.templates import STATIC_FOLDER, render_template
from tests.docyard.web.page_server import CSRF, PageServer, ParsedPage, serve_pages
from tests.loops import loop_over
from tests.repositories import Repo, create_repository, read_repository_files
from workspace.errors import WorkspaceError

MAX_THREADS = 8  # for GET requests
FILES = {"README.md": "# Example\n\nText.\n\n- [ ] Task\n", "guides/setup.md": "# Setup\n\nSteps.\n"}
PAGE_URLS = {
    "home": "/",
    "library": "/library",
    "folder": "/folder/guides",
    "open": "/?tasks=open",
    "search": "/search",
    "hits": "/search?q=steps",
    "nothing": "/search?q=zebra",
    "missing": "/no/such/page",
    "error": "/?ref=none",
    "past": "/?ref=HEAD",
}


@pytest.fixture(scope="module")
def repo(tmp_path_factory: pytest.TempPathFactory) -> Repo:
    new_repo = create_repository(tmp_path_factory.mktemp("frame") / "r", FILES)
    new_repo.git("mv", "guides/setup.md", "guides/start.md")
    new_repo.commit({}, "Moved")
    return new_repo


@pytest.fixture(scope="module")
def server(repo: Repo) -> Iterator[PageServer]:
    with serve_pages(repo.path) as server:
        server.site.index().update_to_tip()
        yield server


@loop_over("url", PAGE_URLS.values(), ids=PAGE_URLS)
def test_page_is_valid_html(server: PageServer, url: str) -> None:
    _check_html(server.client.get(url).text)


@loop_over("is_token_wrong", [False, True], ids=["first", "wrong"])
def test_login_page_is_valid_html(is_token_wrong: bool) -> None:
    html = render_template(
        "login.html",
        {
            "is_token_wrong": is_token_wrong,
            "is_signed_in": is_token_wrong,
            "redirect_path": '/"><script>',
            "provider_host": "login.example.org" if is_token_wrong else None,
            "provider_url": '/login/provider?after="><script>',
            "failure": "<script>It failed." if is_token_wrong else "",
        },
    )
    _check_html(html)
    assert "<script>" not in html
    assert ("is invalid" in html) == is_token_wrong


def _check_html(html: str) -> None:
    page = ParsedPage(html)
    assert page.nesting_errors == []
    assert [element.get("lang") for element in page.find_all("html")] == ["en"]
    assert len(page.find_all("h1")) == len(page.find_all("main")) == len(page.find_all("title")) == 1
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    labelled_ids = {label.get("for") for label in page.find_all("label")}
    for kind in ("input", "select", "textarea"):
        for field in page.find_all(kind):
            is_inside_label = re.search(rf"<label[^>]*>(?:(?!</label>).)*<{kind}", html, re.DOTALL)
            has_label = field.get("id") in labelled_ids or is_inside_label or field.get("aria-label")
            assert field.get("type") == "hidden" or has_label, field
    # The content policy blocks inline scripts and styles, and pages need none.
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    assert not [element for _, element in page.elements if "style" in element]
    assert all(script.get("src", "") for script in page.find_all("script"))
    assert "<style" not in html


def test_form_of_another_session_changes_nothing(server: PageServer, repo: Repo) -> None:
    files_before = read_repository_files(repo.path)
    urls = [
        re.sub(r"\{[^}]*\}", "x", route.path)
        for route in build_routes(server.site)
        if isinstance(route, Route) and "POST" in (route.methods or ())
    ]
    assert urls
    for url in urls:
        for fields in ({}, {"csrf": ""}, {"csrf": "another"}, {"csrf": CSRF + "x"}, {"csrf": "\ud7ff"}):
            assert server.client.post(url, data=fields).status_code == 403, (url, fields)
        json_response = server.client.post(url, json={"csrf": CSRF})
        assert json_response.status_code == 403
        # A form of another site may send this content type.
        text_headers = {"Content-Type": "text/plain"}
        text_response = server.client.post(url, content=urlencode({"csrf": CSRF}), headers=text_headers)
        assert text_response.status_code == 403
        file_response = server.client.post(url, data={"csrf": CSRF}, files={"file": b"x"})
        # Only the form that edits a document may have a file; this document does not exist.
        assert file_response.status_code == (404 if url == "/edit/x" else 403)
        file_response = server.client.post(url, data={"csrf": "another"}, files={"file": b"x"})
        assert file_response.status_code == 403
        large_response = server.client.post(url, data={"csrf": CSRF, "text": "x" * 2_000_001})
        assert large_response.status_code == 403
        many_fields_response = server.client.post(url, data={f"f{number}": "" for number in range(3000)})
        assert many_fields_response.status_code == 403
    assert read_repository_files(repo.path) == files_before


def test_get_requests_change_nothing(server: PageServer, repo: Repo) -> None:
    files_before = read_repository_files(repo.path)
    for url in PAGE_URLS.values():
        server.client.get(url)
    assert read_repository_files(repo.path) == files_before


def test_refused_form_shows_the_sent_text(server: PageServer) -> None:
    text = "Something long that took a while <b>to</b> write."
    page = server.client.post("/edit/README.md", data={"text": text}).text
    assert "Something long that took a while &lt;b&gt;to&lt;/b&gt; write." in page


def test_url_of_bare_path_suggests_its_document(server: PageServer) -> None:
    assert 'href="/doc/README.md"' in server.get("/README.md", 404)
    assert 'href="/doc/guides/start.md"' in server.get("/guides/stert.md", 404)


@loop_over("url", PAGE_URLS.values(), ids=PAGE_URLS)
def test_head_response_has_the_headers_of_get(server: PageServer, url: str) -> None:
    head_response, get_response = server.client.head(url), server.client.get(url)
    assert (head_response.status_code, head_response.content) == (get_response.status_code, b"")
    assert head_response.headers == get_response.headers


def test_slow_pages_use_a_limited_number_of_threads() -> None:
    started_requests: list[int] = []
    release_event = threading.Event()

    def build_response() -> Response:
        started_requests.append(1)
        assert release_event.wait(30)
        return Response()

    async def request_pages() -> int:
        async with anyio.create_task_group() as tasks:
            for _ in range(30):
                tasks.start_soon(run_in_thread, build_response)
            with anyio.fail_after(30):
                while len(started_requests) < MAX_THREADS:
                    await anyio.sleep(0.005)
            await anyio.sleep(0.05)  # one more thread would start in this time
            parallel_count = len(started_requests)
            release_event.set()
        return parallel_count

    assert anyio.run(request_pages) == MAX_THREADS
    assert len(started_requests) == 30


def test_url_of_bare_path_with_special_characters_suggests_its_document(tmp_path: Path) -> None:
    with serve_pages(create_repository(tmp_path / "r", {"a b?c#1.md": "# Odd\n"}).path) as server:
        assert 'href="/doc/a%20b%3Fc%231.md">a b?c#1.md' in server.get("/a%20b%3Fc%231.md", 404)


@loop_over(
    ("code", "status"),
    [
        ("PAGE_NOT_FOUND", 404),
        ("NO_HISTORY", 404),
        ("LIMIT_EXCEEDED", 413),
        ("DAMAGED_REPO", 500),
        ("BUSY", 503),
        ("INVALID_WORDS", 400),
    ],
)
def test_error_code_maps_to_http_status(code: str, status: int) -> None:
    error = WorkspaceError("it went wrong", fix="Do it again.")
    error.code = code
    assert get_status(error) == status


def test_old_path_suggests_its_new_location(server: PageServer) -> None:
    page = server.get("/guides/setup.md", 404)
    assert 'href="/doc/guides/start.md">guides/start.md (moved there)' in page


def test_unsupported_method_returns_405(server: PageServer) -> None:
    assert server.client.post("/", data={}).status_code == 405


@loop_over("name", sorted(path.name for path in STATIC_FOLDER.iterdir()))
def test_static_file_is_cached_for_long(server: PageServer, name: str) -> None:
    response = server.client.get(f"/static/{name}")
    assert response.status_code == 200
    assert "immutable" in response.headers["cache-control"]


@loop_over("name", ["nothing.css", "..%2fbase.css", "%00.css", "", "..%2f..%2fsite.py"])
def test_unknown_static_path_is_not_found(server: PageServer, name: str) -> None:
    assert server.client.get(f"/static/{name}").status_code == 404


def test_static_files_request_nothing_from_other_hosts(server: PageServer) -> None:
    for file in STATIC_FOLDER.iterdir():
        text = file.read_text("utf-8").replace("http://www.w3.org/2000/svg", "")
        assert "http:" not in text
        assert "https:" not in text
        assert "innerHTML =" not in text
