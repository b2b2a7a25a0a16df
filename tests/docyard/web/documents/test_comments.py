"""The comments on the page of a document: shown, added, answered, resolved, and refused."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.docyard.web.page_server import CSRF, PageServer, serve_pages
from tests.repositories import Repo, create_repository

if TYPE_CHECKING:
    from httpx2 import Response

GUIDE = "# Guide\n\nHi.\n\n## Install\n\nRun it.\n\n## Use\n\nUse it.\n"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return create_repository(tmp_path / "repo", {"guide.md": GUIDE, "other.md": "# Other\n\nText.\n"})


def post(server: PageServer, action: str, *, csrf: str = CSRF, **fields: str) -> Response:
    data = {"csrf": csrf, "page": "guide.md", **fields}
    return server.client.post(f"/comments/{action}", data=data, follow_redirects=False)


def test_comment_is_added_answered_resolved_and_reopened(repo: Repo) -> None:
    with serve_pages(repo.path) as server:
        key = "0a" * 16
        locations = {
            post(server, "comment", slug="install", text="Which <b>version</b>?\n\n*Say*", key=key).headers[
                "location"
            ]
            for _ in range(2)
        }
        [location] = locations
        assert location.startswith("/doc/guide.md#said-")
        id = location.partition("#said-")[2]
        page = server.get("/doc/guide.md")
        assert f'id="said-{id}"' in page
        assert 'href="/doc/guide.md#install"' in page
        assert "<em>Say</em>" in page
        assert page.count("<em>Say</em>") == 1
        assert post(server, "comment", reply_to=id, text="The last.").status_code == 303
        assert "The last." in server.get("/doc/guide.md")
        assert "Which" not in server.get("/doc/other.md")
        repo.commit({"guide.md": GUIDE.replace("Run it.", "Run it twice.")})
        assert "its text has changed since" in server.get("/doc/guide.md")
        assert post(server, "resolve-comment", comment=id).status_code == 303
        assert "The last." not in server.get("/doc/guide.md")
        assert post(server, "reopen-comment", comment=id).status_code == 303
        assert "The last." in server.get("/doc/guide.md")
        assert "Comments" not in server.get("/doc/guide.md?ref=HEAD")
    assert repo.status() == repo.fsck() == ""


def test_moved_comment_is_shown_on_the_page_of_its_text(repo: Repo) -> None:
    with serve_pages(repo.path) as server:
        post(server, "comment", slug="install", text="Which version?")
        repo.commit(
            {
                "guide.md": "# Guide\n\nHi.\n\n## Use\n\nUse it.\n",
                "other.md": "# Other\n\nText.\n\n## Install\n\nRun it.\n",
            }
        )
        page = server.get("/doc/other.md")
        assert "Which version?" in page
        assert "its text has moved" in page


@pytest.mark.parametrize(
    ("action", "fields", "status"),
    [
        ("comment", {"text": "x", "csrf": "wrong"}, 403),
        ("comment", {"text": ""}, 400),
        ("comment", {"text": "x", "slug": "nowhere"}, 404),
        ("comment", {"text": "x", "page": "gone.md"}, 404),
        ("comment", {"text": "x", "page": "//evil.example"}, 404),
        ("comment", {"text": "x", "reply_to": "0" * 16}, 404),
        ("resolve-comment", {"comment": "0" * 16}, 404),
        ("delete", {}, 404),
    ],
)
def test_invalid_forms_are_refused(repo: Repo, action: str, fields: dict[str, str], status: int) -> None:
    before = repo.git("for-each-ref")
    with serve_pages(repo.path) as server:
        assert post(server, action, **fields).status_code == status
    assert repo.git("for-each-ref") == before


def test_redirect_after_a_form_stays_on_this_server(repo: Repo) -> None:
    with serve_pages(repo.path) as server:
        id = post(server, "comment", text="x").headers["location"].partition("#said-")[2]
        location = post(server, "resolve-comment", comment=id, page="//evil.example/\r\nX: y").headers[
            "location"
        ]
        assert location.startswith("/doc/")
        assert "\n" not in location


def test_pages_without_permission_show_comments_without_forms(repo: Repo) -> None:
    with serve_pages(repo.path) as server:
        post(server, "comment", text="Which version?")
    with serve_pages(repo.path, read_only=True) as server:
        page = server.get("/doc/guide.md")
        assert "Which version?" in page
        assert "/comments/" not in page
        assert post(server, "comment", text="x").status_code in (403, 405)


def test_detached_head_shows_the_document_without_comments(repo: Repo) -> None:
    repo.git("switch", "-q", "--detach")
    with serve_pages(repo.path) as server:
        page = server.get("/doc/guide.md")
        assert "Run it." in page
        assert "/comments/" not in page


def test_newest_comments_of_many_are_shown(repo: Repo) -> None:
    with serve_pages(repo.path) as server:
        for number in range(35):
            post(server, "comment", text=f"number {number} of many")
        page = server.get("/doc/guide.md")
        assert "number 34 of many" in page
        assert "number 4 of many" not in page
        assert page.index("number 5 of many") < page.index("number 34 of many")
        assert "docyard comments list guide.md" in page
        assert "of many" not in server.get("/doc/other.md")
