"""Boxes of tasks as buttons: a click completes or reopens exactly the task that the page showed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest

from docyard.web.documents.task_boxes import TASK_MARK, replace_boxes
from tests.docyard.web.documents.page_setup import DocumentPages, serve_documents
from workspace.document.document import Document
from workspace.git.messages import read_trailers

PLAN = """---
type: plan
---
# Plan

- [ ] One <b>`x`</b> "q"
  - [x] Inner
    - Completed: 2026-01-02
- [ ] Two {#two}

> - [ ] Quoted

<ul><li class="task-list-item"><input type="checkbox" id="task-1"> Raw</li></ul>

## Later

1. [ ] Three
"""
RULES = '[[protect]]\npaths = ["specs/**"]\napprovers = ["ana"]\n'
BUTTON = re.compile(
    r'<button class="tick" form="\[tasks\]" name="(\w+)" value="([^"]*)" role="checkbox" '
    r'aria-checked="(\w+)" aria-label="([^"]*)"'
)


@pytest.fixture
def pages(tmp_path: Path) -> Iterator[DocumentPages]:
    with serve_documents(tmp_path / "repo") as served_pages:
        served_pages.repo.commit({"plan.md": PLAN})
        yield served_pages


def read_form(page: str) -> dict[str, str]:
    form = page[page.index('<form id="[tasks]"') :].partition("</form>")[0]
    return {name: unescape(value) for name, value in re.findall(r'name="(\w+)" value="([^"]*)"', form)}


def read(pages: DocumentPages, path: str = "plan.md", ref: str = "main") -> str:
    return pages.workspace.at(ref).read(path).decode()


def test_each_task_has_a_button_with_its_address_and_title(pages: DocumentPages) -> None:
    page = pages.get("/doc/plan.md")
    buttons = [tuple(map(unescape, found)) for found in BUTTON.findall(page)]
    assert ("complete", "plan.md#_preamble[0]", "false", 'One x "q"') in buttons
    assert {address for _, address, _, _ in buttons} >= {
        "plan.md#_preamble[0]",
        "plan.md#_preamble[0.0]",
        "plan.md#later[0]",
    }
    assert ("reopen", "plan.md#_preamble[0.0]", "true", "Inner") in buttons
    assert TASK_MARK not in page
    assert '<input type="checkbox" disabled="" aria-label="To do"> Raw' in page  # no task of the document


def test_button_completes_and_reopens_its_task_in_one_commit(pages: DocumentPages) -> None:
    form = read_form(pages.get("/doc/plan.md"))
    location = pages.post("/tasks", {**form, "complete": "plan.md#later[0]"})
    assert location == "/doc/plan.md#later"
    assert "1. [x] Three\n" in read(pages)
    message = pages.repo.git("log", "-1", "--format=%B")
    assert message.startswith("Complete later[0] of plan.md")
    assert read_trailers(message)["Docyard-Tool"] == "page"
    head = pages.repo.head()
    assert pages.post("/tasks", {**form, "complete": "plan.md#later[0]"}) == location  # sent twice
    assert pages.repo.head() == head
    # Another button of the same page is another change.
    pages.post("/tasks", {**form, "reopen": "plan.md#_preamble[0.0]"})
    assert "- [ ] Inner" in read(pages)
    assert "Completed: 2026-01-02" not in read(pages)


def test_task_that_moved_since_the_page_was_shown_is_found(pages: DocumentPages) -> None:
    form = read_form(pages.get("/doc/plan.md"))
    pages.repo.commit({"plan.md": PLAN.replace("1. [ ] Three", "1. [ ] New\n2. [ ] Three")})
    pages.post("/tasks", {**form, "complete": "plan.md#later[0]"})
    assert "1. [ ] New\n2. [x] Three" in read(pages)


def test_task_that_changed_since_the_page_was_shown_is_refused_with_both_texts(pages: DocumentPages) -> None:
    form = read_form(pages.get("/doc/plan.md"))
    head = pages.repo.commit({"plan.md": PLAN.replace("Three", "Delete all")})
    page = pages.post("/tasks", {**form, "complete": "plan.md#later[0]"}, 409)
    assert "1. [ ] Delete all" in page
    assert "1. [ ] Three" in page
    assert pages.repo.head() == head
    pages.post("/tasks", {**form, "complete": "plan.md#later[7]"}, 409)
    pages.post("/tasks", {**form, "complete": "none.md#later[0]"}, 409)
    pages.post("/tasks", {**form, "base": "0" * 40, "complete": "plan.md#later[0]"}, 400)
    pages.post("/tasks", form, 400)
    assert pages.repo.head() == head


def test_task_of_a_protected_document_becomes_a_proposal(pages: DocumentPages) -> None:
    pages.repo.commit({"docyard.toml": RULES})
    form = read_form(pages.get("/doc/specs/api.md"))
    location = pages.post("/tasks", {**form, "complete": "specs/api.md#endpoints/errors[1]"})
    assert location.startswith("/proposals/")
    id = location.removeprefix("/proposals/")
    assert "- [x] Explain them" in read(pages, "specs/api.md", id)
    assert "- [ ] Explain them" in read(pages, "specs/api.md")
    # On the page of the proposal's document, the button writes to the proposal.
    form = read_form(pages.get(f"/doc/specs/api.md?ref={id}"))
    location = pages.post("/tasks", {**form, "reopen": "specs/api.md#endpoints/errors[0]"})
    assert location == f"/doc/specs/api.md?ref={id}#endpoints/errors"
    assert "- [ ] Name them" in read(pages, "specs/api.md", id)


def test_page_of_tasks_has_buttons_and_returns_to_its_filters(pages: DocumentPages) -> None:
    for query in ("", "?view=list&path=plan.md&owner="):
        page = pages.get(f"/tasks{query}")
        assert any(address == "plan.md#later[0]" for _, address, _, _ in BUTTON.findall(page))
        form = read_form(page)
        address = next(value for name, value, _, _ in BUTTON.findall(page) if name == "complete")
        location = pages.post("/tasks", {**form, "complete": unescape(address)})
        assert location == ("/tasks?view=list&path=plan.md" if query else "/tasks")
    for odd_query in ("//evil.example", "a b=c", "view=" + "x" * 5_000, "&".join("ab")):
        form = read_form(pages.get("/tasks"))
        location = pages.post("/tasks", {**form, "complete": "plan.md#two", "return": odd_query})
        assert location.startswith("/tasks")


def test_old_state_and_read_only_server_show_plain_boxes(tmp_path: Path, pages: DocumentPages) -> None:
    for url in ("/doc/plan.md?ref=HEAD", "/tasks?ref=HEAD"):
        page = pages.get(url)
        assert '<button class="tick"' not in page
        assert "[tasks]" not in page
    with serve_documents(tmp_path / "repo", read_only=True, may_write=False) as reader:
        for url in ("/doc/plan.md", "/tasks"):
            assert 'class="tick"' not in reader.get(url)
        reader.post("/tasks", {"csrf": "a-token-of-the-page", "complete": "plan.md#two"}, 403)


def test_box_without_a_task_stays_a_box() -> None:
    box = f'<li><input type="checkbox" disabled="" id="{TASK_MARK}-3" aria-label="To do"> Text</li>'
    html = replace_boxes(box, Document.parse(b"# No task\n\nText\n", "a.md"))
    assert html == '<li><input type="checkbox" disabled="" aria-label="To do"> Text</li>'
