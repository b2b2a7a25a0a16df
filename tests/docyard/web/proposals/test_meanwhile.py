"""What others do while a form is answered: nothing of theirs is lost, and who wrote sees what was written."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docyard.web import site
from tests.docyard.web.proposals.pages import Pages, pages
from tests.meanwhile import after
from workspace.proposals.actions import discuss
from workspace.proposals.actions.repository import ProposalRepository
from workspace.proposals.events import ReviewDecision
from workspace.workspace import Workspace


@pytest.fixture
def open_pages(tmp_path: Path) -> Pages:
    return pages(tmp_path)


def test_words_that_another_changes_just_now_are_not_replaced(
    open_pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene, one = open_pages.scene, open_pages.scene.proposed()
    fields = re.search(r'name="seen" value="([0-9a-f]+)"', open_pages.show(one))
    assert fields is not None
    others = Workspace.open(scene.repo.path, durable=False).proposing()
    # The last thing before it is said, which is in a turn of its own.
    after(
        monkeypatch,
        discuss,
        "require_writable",
        lambda: others.edit(one.id, scene.person("cyd"), description="Theirs."),
    )
    html = open_pages.refused(
        one, "edit", 409, seen=fields[1], title=one.content.title, description="Of the second."
    )
    assert open_pages.now(one).content.description == "Theirs."
    assert "Theirs.</textarea>" in html
    assert "Of the second.</textarea>" in html


@pytest.mark.parametrize("act", ["comment", "approve"])
def test_a_form_leads_to_what_it_has_said(
    open_pages: Pages, monkeypatch: pytest.MonkeyPatch, act: str
) -> None:
    scene, one = open_pages.scene, open_pages.scene.proposed()
    others = Workspace.open(scene.repo.path, durable=False).proposing()

    def speak() -> None:
        if act == "comment":
            others.comment(one.id, scene.person("cyd"), "Good.")
        else:
            others.review(one.id, scene.person("cyd"), ReviewDecision.APPROVE, "Good.")

    after(monkeypatch, ProposalRepository, "append", speak)
    said = open_pages.does(one, act, text="Good.").partition("#said-")[2]
    words = open_pages.now(one).content
    spoken = [thread.comment for thread in words.threads] if act == "comment" else words.reviews
    assert {found.id: found.author.name for found in spoken}[said] == "Bea"


def test_who_has_written_sees_it_by_a_clock_that_stands_still(
    open_pages: Pages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two changes within one tick of the clock of folders look like one."""
    one = open_pages.scene.proposed()
    monkeypatch.setattr(site, "_read_folder_times", lambda git: ((("refs", 1, 0),), True))
    assert one.content.title in open_pages.get("/proposals")
    open_pages.does(one, "close")
    assert one.content.title not in open_pages.get("/proposals")
