"""The pages of proposals: the list, the conversation, the changes, and the escaping of user text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.web.proposals import conversation, list
from tests.docyard.web.proposals.pages import Pages, create_pages, extract_text
from tests.loops import loop_over
from tests.workspace.proposals.actions.scene import AGENT, GUIDE
from workspace.proposals.proposal import Proposal

PAGE = 8
EVIL = "<script>window.docyardPwned=1</script><img src=x onerror=alert(1)>\"'>"


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pages]:
    """Return pages with more proposals in each state than a page of the list shows; pages are short."""
    site = create_pages(tmp_path_factory.mktemp("many"))
    scene = site.scene
    for number in range(PAGE + 2):
        scene.open(f"Number {number}")
    proposal = scene.proposed("Reviewed.")
    scene.approve(proposal)
    scene.proposal_actions.comment(proposal.id, AGENT, "A word.")
    merged = scene.proposed("Merged.", slug="install")
    scene.proposal_actions.merge(merged.id, scene.person())
    closed = scene.open("Given up")
    scene.proposal_actions.close(closed.id, AGENT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(list, "PAGE", PAGE)
        yield site


@loop_over(
    ("query", "message", "count"),
    [
        ("", "Page 1 of 2", PAGE),
        ("?state=open&page=2", "Page 2 of 2", 3),
        ("?state=draft", "Drafts 10", PAGE),
        ("?state=merged", "approved", 1),
        ("?state=closed", "Given up", 1),
        ("?state=nonsense&page=-3", "Page 1 of 2", PAGE),
        ("?page=99999999999", "Page 1 of 2", PAGE),
        ("?state=all&page=2", "Page 2 of 2", 5),
    ],
    ids=["open", "second-page", "draft", "merged", "closed", "nonsense", "huge-page", "all"],
)
def test_list_is_filtered_and_paged(many: Pages, query: str, message: str, count: int) -> None:
    html = many.get(f"/proposals{query}")
    if query != "?state=merged":
        assert message in extract_text(html)
    assert html.count('class="entry-title"') == count


def test_list_entry_shows_state_comments_and_approvals(many: Pages) -> None:
    shown = extract_text(many.get("/proposals"))
    assert "Approved Ada via an agent" in shown
    assert "1 document 1 comment approved by Bea" in shown


def test_empty_list_has_a_message(tmp_path: Path) -> None:
    assert "There is no proposal yet" in extract_text(create_pages(tmp_path).get("/proposals"))


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> tuple[Pages, Proposal]:
    """Return a proposal in which each text of a user is markup."""
    site = create_pages(tmp_path_factory.mktemp("hostile"))
    scene = site.scene
    proposal = scene.proposal_actions.open(EVIL, f"{EVIL}\n\n[x](javascript:alert(1))", AGENT, submit=True)
    scene.repo.git("switch", "-q", proposal.content.branch)
    text = GUIDE.replace("Run it.", EVIL).replace("## Use", f"## {EVIL}")
    scene.repo.commit({"guide.md": text, '<b>"x".md': f"# {EVIL}\n", "<i>.png": b"\0"}, EVIL)
    scene.repo.git("switch", "-q", "main")
    person = scene.person("eve")
    scene.proposal_actions.comment(proposal.id, person, EVIL, file="guide.md", slug="install", quote=EVIL)
    return site, proposal


@loop_over(
    "part",
    ["", "changes", "changes?view=inline", "changes?view=<script>&path=<script>", "conflicts"],
    ids=["talk", "side", "inline", "query", "conflicts"],
)
def test_user_text_is_escaped(hostile: tuple[Pages, Proposal], part: str) -> None:
    site, proposal = hostile
    html = site.show(proposal, part)
    main = html.partition("<main")[2]
    assert "<script" not in main
    assert "onerror=" not in main.replace("&lt;img src=x onerror=alert(1)&gt;", "")
    assert "javascript:" not in main or 'href="javascript:' not in main
    assert "<b>" not in main


def test_hostile_text_is_escaped_in_list_and_refusals(hostile: tuple[Pages, Proposal]) -> None:
    site, proposal = hostile
    for html in (
        site.get("/proposals"),
        site.submit_refused(
            proposal, "comment", 400, text="", file=EVIL, quote=EVIL, slug=EVIL, reply_to=EVIL
        ),
        site.submit_refused(proposal, "edit", 400, title=" ", description=EVIL),
    ):
        assert "<script" not in html.partition("<main")[2]


def test_comments_are_shown_below_their_sections(tmp_path: Path) -> None:
    site = create_pages(tmp_path)
    scene = site.scene
    proposal = scene.proposed()
    scene.proposal_actions.comment(
        proposal.id, scene.person(), "On the section.", file="guide.md", slug="use"
    )
    scene.proposal_actions.comment(proposal.id, scene.person(), "On the document.", file="guide.md")
    scene.proposal_actions.comment(proposal.id, scene.person(), "On another.", file="notes.md")
    scene.proposal_actions.comment(proposal.id, scene.person(), "On all.")
    for view in ("side", "inline"):
        shown = extract_text(site.show(proposal, f"changes?view={view}"))
        assert "On the section." in shown
        assert "On the document." in shown
        assert "2 comments elsewhere" in shown
        assert "On another." not in shown
    talk = extract_text(site.show(proposal))
    for words in ("On the section.", "On the document.", "On another.", "On all."):
        assert words in talk
    assert "On notes.md Bea" in talk


@loop_over("query", ["?offset=5", "?offset=x&view=y", "?path=no.md", "?path=guide.md"])
def test_any_query_of_changes_renders(many: Pages, query: str) -> None:
    proposal = many.scene.proposed("Queried.")
    many.show(proposal, f"changes{query}")


def test_long_conversation_is_paged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "PAGE", PAGE)
    site = create_pages(tmp_path)
    proposal = site.scene.proposed()
    for number in range(10):
        site.scene.proposal_actions.comment(proposal.id, AGENT, f"Word {number}.")
    last = extract_text(site.show(proposal))
    assert "3 earlier entries" in last
    assert "Word 9." in last
    assert "Word 1." not in last
    first = extract_text(site.get(f"/proposals/{proposal.id}?from=0"))
    assert "Word 1." in first
    assert "Later entries" in first
    for odd in ("-1", "x", "999999", "9" * 40):
        site.get(f"/proposals/{proposal.id}?from={odd}")


def test_proposal_page_shows_first_changes(tmp_path: Path) -> None:
    site = create_pages(tmp_path)
    page = site.show(site.scene.proposed("A very new text."))
    assert page.index("new text") < page.index('id="talk"')
    assert "/changes" in page


def test_overlaps_and_checks_are_shown(tmp_path: Path) -> None:
    site = create_pages(tmp_path)
    proposal = site.scene.proposed("One. See [it](missing.md).")
    other = site.scene.proposed("Other.")
    shown = extract_text(site.show(proposal))
    assert "Overlaps" in shown
    assert f"/proposals/{other.id}" in site.show(proposal)
    assert "Links: 1 problem" in shown
