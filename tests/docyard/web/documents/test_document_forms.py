"""The forms that create, move and remove documents: one commit or a proposal, and nothing is lost."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from html import unescape
from pathlib import Path

import pytest

from docyard.caller import Caller
from docyard.web.documents import document_forms
from docyard.web.urls import PageUrls
from tests.docyard.web.documents.page_setup import CSRF, DocumentPages, serve_documents
from workspace.git.messages import read_trailers
from workspace.proposals.proposal import ProposalState

CALLER = Caller(None, CSRF, may_write=True, is_session=False)
RULES = '[[protect]]\npaths = ["specs/**"]\napprovers = ["ana"]\n'


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[DocumentPages]:
    with serve_documents(tmp_path / "repo") as served_pages:
        yield served_pages


def parse_form(page: str) -> dict[str, str]:
    """Return the fields of the last form on a page, as a browser sends them."""
    form = page[page.rindex('<form method="post"') :]
    inputs = re.findall(r'<input[^>]* name="(\w+)"[^>]* value="([^"]*)"', form)
    areas = re.findall(r'<textarea name="(\w+)"[^>]*>\n?(.*?)</textarea>', form, re.DOTALL)
    choices = {}
    for name, options in re.findall(r'<select name="(\w+)">(.*?)</select>', form, re.DOTALL):
        selected = re.search(r'<option value="([^"]*)" selected', options)
        choices[name] = selected[1] if selected else ""
    return choices | {name: unescape(value) for name, value in [*inputs, *areas]}


def get_form(pages: DocumentPages, url: str) -> dict[str, str]:
    return parse_form(pages.get(url))


def read_message(pages: DocumentPages) -> str:
    return pages.repo.git("log", "-1", "--format=%B")


def test_document_of_a_type_is_created_as_one_commit(pages: DocumentPages) -> None:
    page = pages.get("/new?folder=specs")
    form = parse_form(page)
    assert form["folder"] == "specs"
    assert re.search(r'<option value="api_spec" >API', page)
    before = pages.repo.head()
    location = pages.post("/new", {**form, "title": "Search API", "type": "api_spec"})
    assert location == "/doc/specs/search-api.md"
    assert pages.repo.git("rev-parse", "HEAD~1").strip() == before
    text = pages.workspace.snapshot().read("specs/search-api.md").decode()
    assert text.startswith("---\ntype: api_spec\n---\n\n# Search API")
    message = read_message(pages)
    assert message.startswith("Create specs/search-api.md")
    assert read_trailers(message)["Docyard-Tool"] == "page"
    assert pages.workspace.proposal_actions().list_all() == ()


def test_empty_document_has_its_title_and_text_only(pages: DocumentPages) -> None:
    form = get_form(pages, "/new")
    sent_form = {
        **form,
        "title": "Größe & <b>",
        "name": "size",
        "text": "Words.",
        "change_title": "Add a page",
    }
    assert pages.post("/new", sent_form) == "/doc/size.md"
    text = pages.workspace.snapshot().read("size.md").decode()
    assert text == "# Größe & <b> {#größe-b}\n\nWords.\n" or text.endswith("\n\nWords.\n")
    assert not text.startswith("---")
    assert read_message(pages).startswith("Add a page\n")


def test_form_that_is_sent_twice_creates_one_document(pages: DocumentPages) -> None:
    form = {**get_form(pages, "/new"), "title": "Twice sent"}
    with ThreadPoolExecutor(4) as pool:
        locations = set(pool.map(lambda _: pages.post("/new", form), range(4)))
    assert locations == {"/doc/twice-sent.md"}
    assert pages.repo.git("log", "--oneline", "--", "twice-sent.md").count("\n") == 1


def test_existing_path_is_refused_and_the_text_stays_in_the_form(pages: DocumentPages) -> None:
    form = {**get_form(pages, "/new"), "title": "Api", "folder": "specs", "text": "Long <text>"}
    before = pages.repo.head()
    page = pages.post("/new", form, 400)
    assert "already exists" in page
    assert parse_form(page)["text"] == "Long <text>"
    assert pages.repo.head() == before
    for wrong in ({"title": ""}, {"title": "X", "folder": "../up"}, {"title": "X", "folder": ".git"}):
        pages.post("/new", {**form, **wrong}, 400)
    pages.post("/new", {**form, "title": "X", "type": "no_such_type"}, 400)
    assert pages.repo.head() == before


def test_protected_folder_makes_a_proposal(pages: DocumentPages) -> None:
    pages.repo.commit({"docyard.toml": RULES})
    before = pages.repo.head()
    page = pages.get("/new?folder=specs")
    assert "the change becomes a proposal" in page
    form = {**parse_form(page), "title": "New API", "text": "Text."}
    location = pages.post("/new", form)
    assert location.startswith("/proposals/")
    assert pages.post("/new", form) == location  # sent twice
    assert pages.repo.head() == before
    [proposal] = pages.workspace.proposal_actions().list_all()
    assert (proposal.content.title, proposal.state) == ("Create specs/new-api.md", ProposalState.OPEN)
    moved = {**get_form(pages, "/move/specs/api.md"), "path": "api.md"}
    assert pages.post("/move/specs/api.md", moved).startswith("/proposals/")
    removal = get_form(pages, "/remove/specs/api.md")
    assert pages.post("/remove/specs/api.md", removal).startswith("/proposals/")
    assert pages.repo.head() == before


def test_chosen_proposal_receives_the_document(pages: DocumentPages) -> None:
    form = {**get_form(pages, "/new"), "title": "First", "target": "new", "change_title": "Two pages"}
    location = pages.post("/new", form)
    id = location.removeprefix("/proposals/")
    second_form = {**get_form(pages, f"/new?proposal={id}"), "title": "Second"}
    assert second_form["target"] == id
    assert pages.post("/new", second_form) == location
    assert {"first.md", "second.md"} <= pages.workspace.at(id).documents.keys()
    assert "first.md" not in pages.workspace.snapshot().documents
    removal = get_form(pages, f"/remove/first.md?proposal={id}")
    assert pages.post("/remove/first.md", removal) == location
    assert "first.md" not in pages.workspace.at(id).documents
    pages.workspace.proposal_actions().close(id, pages.site.build_actor(pages.workspace, CALLER), "")
    page = pages.post("/new", {**second_form, "title": "Third", "text": "Kept words", "key": "a" * 32}, 409)
    assert "Kept words" in page


def test_move_updates_links_in_the_same_commit(pages: DocumentPages) -> None:
    form = get_form(pages, "/move/specs/api.md")
    assert (form["path"], form["title"]) == ("specs/api.md", "Search & find")
    location = pages.post("/move/specs/api.md", {**form, "path": "api/search.md", "title": "Search"})
    assert location == "/doc/api/search.md"
    snapshot = pages.workspace.snapshot()
    assert b"(api/search.md#rate-limits)" in snapshot.read("README.md")
    assert b"# Search\n" in snapshot.read("api/search.md") or b"# Search {" in snapshot.read("api/search.md")
    assert "specs/api.md" not in snapshot.documents
    assert pages.get_redirect("/doc/specs/api.md") == "/doc/api/search.md"
    pages.post("/move/specs/api.md", {**form, "key": "b" * 32}, 404)  # a page that is older than the move


def test_move_refuses_a_stale_title_and_shows_both(pages: DocumentPages) -> None:
    form = get_form(pages, "/move/specs/api.md")
    text = pages.workspace.snapshot().read("specs/api.md").replace(b"# Search & find", b"# Their title")
    head = pages.repo.commit({"specs/api.md": text})
    page = pages.post("/move/specs/api.md", {**form, "title": "My title"}, 409)
    for title in ("Their title", "Search &amp; find", "My title"):
        assert title in page
    assert pages.repo.head() == head
    assert pages.post("/move/specs/api.md", {**parse_form(page), "path": "a.md"}) == "/doc/a.md"
    assert b"# My title" in pages.workspace.snapshot().read("a.md")


def test_unchanged_or_impossible_move_is_refused(pages: DocumentPages) -> None:
    form, before = get_form(pages, "/move/specs/api.md"), pages.repo.head()
    assert "changes nothing" in pages.post("/move/specs/api.md", form, 400)
    assert "already exists" in pages.post("/move/specs/api.md", {**form, "path": "README.md"}, 400)
    pages.post("/move/specs/api.md", {**form, "path": "x.txt"}, 400)
    assert pages.repo.head() == before


def test_removal_lists_the_links_that_it_breaks(pages: DocumentPages) -> None:
    page = pages.get("/remove/specs/api.md")
    assert "1 link would be broken" in page
    assert 'href="/doc/README.md' in page
    assert "specs/api.md#rate-limits" in page
    assert pages.post("/remove/specs/api.md", parse_form(page)) == "/folder/specs"
    assert "specs/api.md" not in pages.workspace.snapshot().documents
    assert "No other document links" in pages.get("/remove/specs/twice.md")
    pages.get("/remove/specs/api.md", 404)


def test_removal_in_a_large_workspace_waits_for_no_search_of_all_documents(
    pages: DocumentPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_forms, "_MAX_SMALL_WORKSPACE_DOCUMENTS", 0)
    links = pages.site.index().links
    pages.get("/remove/specs/none.md", 404)
    page = pages.get("/remove/specs/api.md")
    assert "are being read" in page
    assert "would be broken" not in page
    links.update_in_background(pages.workspace.snapshot()).join()
    page = pages.get("/remove/specs/api.md")
    assert "1 link would be broken" in page
    assert "are being read" not in page


def test_removal_of_a_changed_document_is_refused_with_both_texts(pages: DocumentPages) -> None:
    form = get_form(pages, "/remove/specs/api.md")
    text = pages.workspace.snapshot().read("specs/api.md").replace(b"Sixty", b"Seventy")
    head = pages.repo.commit({"specs/api.md": text})
    page = pages.post("/remove/specs/api.md", form, 409)
    assert "Sixty in a minute." in page
    assert "Seventy in a minute." in page
    assert pages.repo.head() == head
    pages.post("/remove/specs/api.md", {**form, "base": ""}, 400)
    assert pages.repo.head() == head
    assert pages.post("/remove/specs/api.md", parse_form(page)) == "/folder/specs"


def test_last_document_of_a_folder_leads_to_the_folder_above(pages: DocumentPages) -> None:
    url = "/remove/odd/a%20b%23c%3F.md"
    assert pages.post(url, get_form(pages, url)) == PageUrls().library()


def test_read_only_server_offers_none_of_it(tmp_path: Path) -> None:
    with serve_documents(tmp_path / "repo"):
        pass
    with serve_documents(tmp_path / "repo", read_only=True, may_write=False) as pages:
        for url in ("/new", "/move/specs/api.md", "/remove/specs/api.md"):
            pages.get(url, 403)
            pages.post(url, {"csrf": CSRF, "title": "T"}, 403)
        assert not re.search('href="/(new|move|remove)', pages.get("/doc/specs/api.md") + pages.get("/"))
