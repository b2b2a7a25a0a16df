"""The page of proposals: filters, paging, the values of each entry, unread marks and limits."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from docyard.web.proposals import list as proposal_list
from docyard.web.proposals import read_marks
from docyard.web.proposals.read_marks import COOKIE_NAME, MAX_MARKS
from tests.docyard.web.page_server import CSRF, ParsedPage
from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from tests.loops import loop_over
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, RULE
from workspace.proposals.answers import CommentAnswer
from workspace.proposals.proposal import Proposal
from workspace.proposals.review.review import ProposalReview

PAGE_SIZE = 8
MAX_PAGE_BYTES = 60_000
HOSTILE_MARKUP = "<script>window.docyardPwned=1</script><img src=x onerror=alert(1)>\"'>\u202e"


@pytest.fixture(scope="module")
def pages_of_many_proposals(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ProposalPages]:
    """Return the pages of a workspace with more proposals than fit on one page of the list."""
    pages = create_pages(tmp_path_factory.mktemp("many"))
    setup = pages.setup
    for number in range(PAGE_SIZE + 2):
        setup.open(f"Number {number}")
    approved_proposal = setup.submit_proposal("Reviewed.")
    setup.approve(approved_proposal)
    setup.proposal_actions.comment(approved_proposal.id, AGENT_ACTOR, "A word about herons.")
    merged_proposal = setup.submit_proposal("Merged.", slug="install")
    setup.proposal_actions.merge(merged_proposal.id, setup.person())
    closed_proposal = setup.open("Given up")
    setup.proposal_actions.close(closed_proposal.id, AGENT_ACTOR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(proposal_list, "PROPOSALS_PER_PAGE", PAGE_SIZE)
        yield pages


@loop_over(
    ("query", "message", "count"),
    [
        ("", "Page 1 of 2", PAGE_SIZE),
        ("?state=open&page=2", "Page 2 of 2", 3),
        ("?state=draft", "10 proposals", PAGE_SIZE),
        ("?state=approved", "Approved (1)", 1),
        ("?state=merged", "Merged (1)", 1),
        ("?state=closed", "Given up", 1),
        ("?state=gone", "Search in all states", 0),
        ("?state=nonsense&page=-3", "There is no state “nonsense”", PAGE_SIZE),
        ("?page=99999999999", "Page 1 of 2", PAGE_SIZE),
        ("?state=all&page=2", "Page 2 of 2", 5),
        ("?search=HERONS+more", "1 proposal ", 1),
        ("?author=an+agent", "11 proposals", PAGE_SIZE),
        ("?author=nobody", "No proposal is by “ nobody ”. Authors: Ada .", 0),
        ("?path=guide.md", "1 proposal ", 1),
        ("?path=g*.md&state=all&author=ada", "2 proposals", 2),
        ("?path=specs", "No proposal matches", 0),
        ("?path=/guide.md&search=herons", "the path begins with a slash", 1),
        ("?state=waiting", "No proposal matches", 0),
        ("?path=nowhere", "Type a part of a path", 0),
        ("?needs=me", "Ready to merge", 1),
    ],
    ids=[
        "open",
        "second-page",
        "draft",
        "approved",
        "merged",
        "closed",
        "gone",
        "nonsense",
        "huge-page",
        "all",
        "search",
        "client",
        "unknown-author",
        "document",
        "glob",
        "other-folder",
        "invalid-path",
        "waiting",
        "unknown-path",
        "needs-me",
    ],
)
def test_list_is_filtered_and_paged(
    pages_of_many_proposals: ProposalPages, query: str, message: str, count: int
) -> None:
    html = pages_of_many_proposals.get(f"/proposals{query}")
    assert message in extract_text(html)
    assert html.count('class="entry-title"') == count


def test_form_and_links_have_the_values_of_the_query(pages_of_many_proposals: ProposalPages) -> None:
    html = pages_of_many_proposals.get('/proposals?state=all&author=ada&search=%22why"&path=&page=1')
    page = ParsedPage(html)
    values = {field["name"]: field.get("value") for field in page.find_all("input") if "name" in field}
    assert (values["author"], values["search"], values["path"]) == ("ada", '"why"', "")
    assert '<option value="all" selected>' in html
    html = pages_of_many_proposals.get("/proposals?state=all&author=ada")
    assert 'rel="next" data-key="n" href="/proposals?author=ada&amp;state=all&amp;page=2"' in html
    assert '<option value="Ada"></option>' in html


def submit_reviewed_proposal(pages: ProposalPages) -> Proposal:
    """Submit a proposal to a protected path, with an approval and two comments, of which one is resolved."""
    setup = pages.setup
    setup.repo.commit({"CODEOWNERS": "*.md @cid @docs-team\n"})
    for name in ("bea", "cid", "dan"):
        setup.person(name)
    proposal = setup.submit_proposal(file="specs/api.md", slug="calls")
    setup.approve(proposal)
    setup.proposal_actions.comment(proposal.id, AGENT_ACTOR, "See this, @dan.")
    commented = setup.proposal_actions.comment(proposal.id, AGENT_ACTOR, "Done.").proposal
    answer = CommentAnswer(commented.content.threads[-1].comment.id, is_resolved=True)
    setup.proposal_actions.answer(proposal.id, AGENT_ACTOR, [answer])
    return setup.proposal_actions.find(proposal.id)


def test_entry_shows_reviews_people_conflicts_and_comments(tmp_path: Path) -> None:
    pages = create_pages(tmp_path, RULE.replace("= 1", "= 2"))
    proposal = submit_reviewed_proposal(pages)
    text = extract_text(pages.get("/proposals"))
    assert "Waiting for review an agent for Ada , opened just now" in text
    assert f"{proposal.id} approved by Bea waits for Cid and @docs-team mentions Dan" in text
    assert "1 of 2 approvals 1 document 1 open comment" in text
    assert "Conflicts with" not in text
    pages.setup.repo.commit({"specs/api.md": "# API\n"})
    pages.site.versions.invalidate()
    pages.get("/proposals")
    assert "Conflicts with main 1 of 2 approvals" in extract_text(pages.get("/proposals"))


def test_filter_selects_what_needs_the_caller(tmp_path: Path) -> None:
    pages = create_pages(tmp_path, RULE.replace("= 1", "= 2"))
    submit_reviewed_proposal(pages)
    pages.setup.open("A draft")
    for name, expected in (("bea", "(0)"), ("cid", "Waits for your review"), ("dan", "You are mentioned")):
        pages.sender_name = name
        html = pages.get("/proposals?needs=me")
        assert expected in extract_text(html)
        assert html.count('class="entry-title"') == (name != "bea")
        assert "A draft" in pages.get("/proposals")


def test_read_only_server_has_no_filter_of_needs(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    pages.setup.open("A draft")
    text = extract_text(create_pages_again(pages).get("/proposals?needs=me"))
    assert "you cannot act on proposals here" in text
    assert "Needs me (" not in text
    assert "A draft" in text


def test_session_without_a_person_has_no_needs_and_a_link_to_sign_in(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    pages.setup.submit_proposal()
    pages.sender_name = None
    html = pages.get("/proposals?needs=me")
    assert "Waits for your review" not in html
    assert "your session is not signed in as a person" in extract_text(html)
    assert "Not signed in as a person.</span> <a" in html
    assert 'href="/login?after=%2Fproposals%3Fneeds%3Dme"' in html
    assert 'href="/login?after=%2F"' in pages.get("/").partition("<main")[2]
    pages.sender_name = "bea"
    assert "Not signed in" not in pages.get("/proposals")
    pages.sender_name = None
    assert "Not signed in" not in create_pages_again(pages).get("/proposals")


def create_pages_again(pages: ProposalPages) -> ProposalPages:
    """Return read-only pages of the same repository."""
    return ProposalPages(pages.setup, read_only=True)


def test_empty_lists_state_the_next_step(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    text = extract_text(pages.get("/proposals"))
    assert "There is no proposal yet An agent creates one" in text
    assert "Words" not in text
    proposal = pages.setup.open("Given up")
    pages.setup.proposal_actions.close(proposal.id, AGENT_ACTOR)
    pages.site.versions.invalidate()
    html = pages.get("/proposals")
    assert "No proposal is open Show all 1 , also those" in extract_text(html)
    assert '<a href="/proposals?state=all">' in html


def is_unread(pages: ProposalPages) -> bool:
    pages.site.versions.invalidate()
    html = pages.get("/proposals")
    assert ("Unread: " in html) == ('class="unread"' in html)
    return "Unread: " in html


def test_proposal_is_read_until_it_changes(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    assert is_unread(pages)
    response = pages.client.get(f"/proposals/{proposal.id}")
    assert "httponly" in response.headers["set-cookie"].casefold()
    assert "path=/proposals;" in response.headers["set-cookie"].casefold()
    assert not is_unread(pages)
    assert "set-cookie" not in pages.client.get(f"/proposals/{proposal.id}").headers
    pages.setup.proposal_actions.comment(proposal.id, AGENT_ACTOR, "A word.")
    assert is_unread(pages)
    pages.get_proposal_page(proposal, "changes")
    assert not is_unread(pages)
    pages.setup.append(proposal.id, "More.")
    assert is_unread(pages)
    pages.setup.proposal_actions.close(proposal.id, AGENT_ACTOR)
    assert not is_unread(pages)
    pages.get_proposal_page(proposal)
    assert pages.client.cookies.get(COOKIE_NAME, "") in ("", '""')


@loop_over("read_only", [False, True])
def test_unread_proposals_are_selected_and_marked(tmp_path: Path, read_only: bool) -> None:
    setup = create_pages(tmp_path / str(read_only)).setup
    read, unread = setup.open("Read"), setup.open("Not read")
    pages = ProposalPages(setup, read_only=read_only)
    pages.get_proposal_page(read)
    html = pages.get("/proposals?unread=yes")
    assert f'href="/proposals/{unread.id}"' in html
    assert f'href="/proposals/{read.id}"' not in html
    assert "Unread (1)" in extract_text(html)
    form = ParsedPage(html.partition('action="/proposals/read"')[2].partition("</form>")[0])
    fields = {field["name"] or "": field["value"] or "" for field in form.find_all("input")}
    assert fields == {"csrf": CSRF, "unread": "yes"}
    response = pages.client.post("/proposals/read", data=fields)
    assert (response.status_code, response.headers["location"]) == (303, "/proposals?unread=yes")
    html = pages.get("/proposals?unread=yes")
    assert "No open proposal is unread" in extract_text(html)
    assert "/proposals/read" not in html
    assert pages.write_count == 0
    assert pages.client.post("/proposals/read", data={**fields, "csrf": "x"}).status_code == 403


def test_newest_proposals_are_marked_if_there_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_marks, "MAX_MARKS", 2)
    monkeypatch.setattr(proposal_list, "MAX_MARKS", 2)
    pages = create_pages(tmp_path)
    oldest, *_ = [pages.setup.open(title) for title in ("One", "Two", "Three")]
    assert "Mark the newest 2 as read" in extract_text(pages.get("/proposals"))
    pages.client.post("/proposals/read", data={"csrf": CSRF})
    html = pages.get("/proposals?unread=yes")
    assert html.count('class="entry-title"') == 1
    assert f'href="/proposals/{oldest.id}"' in html


@pytest.mark.parametrize(
    "value",
    [
        "",
        "x" * 100_000,
        "k7m2q9xa<scrip.",
        "....",
        "k7m2q9xa------",
        '"; path=/',
        "\u0661" * 14,
        "k7m2q9xa" * 9,
    ],
    ids=["empty", "long", "markup", "dots", "symbols", "quotes", "digits", "no-separator"],
)
def test_invalid_cookie_has_no_marks_and_is_replaced(tmp_path: Path, value: str) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.open()
    cookie = f"{COOKIE_NAME}={value}".encode()
    for url in ("/proposals", f"/proposals/{proposal.id}"):
        response = pages.client.get(url, headers={b"cookie": cookie})
        assert response.status_code == 200
        assert ("Unread: " in response.text) == (url == "/proposals")
    new_value = response.headers["set-cookie"].partition("=")[2].partition(";")[0]
    assert new_value.startswith(proposal.id)
    assert len(new_value) == 14


def test_cookie_is_bounded(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.open()
    other_ids = [f"k{number:07}" for number in range(MAX_MARKS)]
    value = ".".join(f"{id}abcdef" for id in other_ids)
    response = pages.client.get(f"/proposals/{proposal.id}", headers={"cookie": f"{COOKIE_NAME}={value}"})
    header = response.headers["set-cookie"]
    assert len(header) < 4_096
    assert other_ids[0] not in header
    assert other_ids[1] in header
    assert proposal.id in header


def test_conflicts_are_searched_in_the_background_and_only_on_the_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = create_pages(tmp_path)
    proposals = [pages.setup.submit_proposal(f"Text {number}.", slug="use") for number in range(4)]
    pages.setup.repo.commit({"guide.md": "# Guide\n"})
    merged_ids = []
    search = ProposalReview.conflicts

    def record(self: ProposalReview, proposal: Proposal, commit: str | None = None) -> object:
        merged_ids.append(proposal.id)
        return search(self, proposal, commit)

    monkeypatch.setattr(ProposalReview, "conflicts", record)
    monkeypatch.setattr(proposal_list, "PROPOSALS_PER_PAGE", 2)
    monkeypatch.setattr(proposal_list, "_MAX_MERGE_S", 0)
    html = pages.get("/proposals?page=2")
    assert extract_text(html).count("conflicts are being checked") == 2
    version = html.partition('data-version="')[2].partition('"')[0]
    assert version.endswith("~")
    end = time.monotonic() + 30
    while pages.site.background.is_busy and time.monotonic() < end:
        time.sleep(0.01)
    html = pages.get("/proposals?page=2")
    assert extract_text(html).count("Conflicts with main") == 2
    assert f'data-version="{version.removesuffix("~")}"' in html
    assert sorted(merged_ids) == sorted(proposal.id for proposal in proposals[:2])


def test_unknown_conflicts_end_the_search(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    target_commit = pages.setup.repo.head()
    pages.setup.repo.git("switch", "-q", "--orphan", "other")
    pages.setup.repo.commit({"guide.md": "# Other history\n"})
    other_commit = pages.setup.repo.head()
    pages.setup.repo.git("update-ref", "refs/heads/main", other_commit, target_commit)
    pages.setup.repo.git("switch", "-q", "main")
    end = time.monotonic() + 30
    while "conflicts are unknown" not in (text := extract_text(pages.get("/proposals"))):
        assert time.monotonic() < end, text
        time.sleep(0.05)
    assert proposal.id in text


def test_page_with_long_hostile_texts_is_escaped_and_bounded(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    title = (HOSTILE_MARKUP * 4)[:256]
    names = "".join(f"@{'<b>' * 30}{number} " for number in range(20))
    pages.setup.repo.commit({"CODEOWNERS": f"*.md {names}\n"})
    proposals = [pages.setup.open(title) for _ in range(proposal_list.PROPOSALS_PER_PAGE + 1)]
    pages.setup.append(proposals[-1].id, "More.")
    query = "".join(f"&{name}={HOSTILE_MARKUP[:40] * 20}" for name in ("author", "path", "state", "search"))
    for url in ("/proposals", f"/proposals?{query.replace('<', '%3C')}"):
        html = pages.get(url)
        assert len(html.encode()) <= MAX_PAGE_BYTES
        main = html.partition("<main")[2]
        assert "<script>" not in main
        assert "<img" not in main
    assert extract_text(pages.get("/proposals")).count("window.docyardPwned=1") >= len(proposals) - 1
