"""Actions on the page of a proposal: once, repeated, for an outdated commit, and without permission."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from docyard.caller import REVIEW_SCOPE
from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from tests.loops import loop_over
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, GUIDE, RULE
from workspace.proposals.proposal import ProposalState


@pytest.fixture
def open_pages(tmp_path: Path) -> ProposalPages:
    return create_pages(tmp_path)


@pytest.fixture
def protected_pages(tmp_path: Path) -> ProposalPages:
    """Return pages of a setup in which `specs/` changes only by approved proposals."""
    return create_pages(tmp_path, RULE)


def test_draft_is_submitted_approved_and_merged(protected_pages: ProposalPages) -> None:
    setup = protected_pages.setup
    proposal = setup.open("Say more of calls")
    setup.append(proposal.id, "One.", "specs/api.md", "calls")
    assert "is a draft" in extract_text(protected_pages.get_proposal_page(proposal))
    protected_pages.send_form(proposal, "submit")
    text = extract_text(protected_pages.get_proposal_page(proposal))
    assert "specs/api.md needs 1 approval of the proposal as it is now, and has 0" in text
    tip = protected_pages.reload(proposal).tip or ""
    assert "may not be merged" in extract_text(
        protected_pages.send_refused_form(proposal, "merge", 409, commit=tip)
    )
    location = protected_pages.send_form(proposal, "approve", commit=tip, text="Good.")
    assert location.startswith(f"/proposals/{proposal.id}#said-")
    assert f'id="{location.partition("#")[2]}"' in protected_pages.get_proposal_page(proposal)
    assert "Ready to merge" in extract_text(protected_pages.get_proposal_page(proposal))
    protected_pages.send_form(proposal, "merge", commit=tip)
    merged_proposal = protected_pages.reload(proposal)
    assert merged_proposal.state is ProposalState.MERGED
    assert setup.log("-1", "--format=%an %s") == [f"Bea Merge proposal {proposal.id}: Say more of calls"]
    assert re.search(
        r"Merged as [0-9a-f]{8} by Bea,", extract_text(protected_pages.get_proposal_page(proposal))
    )
    assert protected_pages.write_count == 4


def test_conflict_names_all_protected_documents_without_approvals(tmp_path: Path) -> None:
    pages = create_pages(tmp_path, '[[protect]]\npaths = ["**"]\napprovals = 1\n')
    setup = pages.setup
    proposal = setup.open()
    for text, file, slug in (("One.", "specs/api.md", "calls"), ("Two.", "guide.md", "use")):
        setup.append(proposal.id, text, file, slug)
    setup.repo.commit({"guide.md": "# Guide\n"})
    text = extract_text(pages.get_proposal_page(proposal))
    assert "conflict with main to be resolved" in text
    assert "guide.md, specs/api.md need 1 approval" in text


def test_duplicate_merge_form_merges_once(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    tip, count_before = proposal.tip or "", len(open_pages.setup.log("--format=%h", "main"))
    key = "0123456789abcdef" * 2
    locations = [open_pages.send_form(proposal, "merge", key=key, commit=tip) for _ in range(2)]
    assert locations == [f"/proposals/{proposal.id}"] * 2
    assert len(open_pages.setup.log("--first-parent", "--format=%h", "main")) == count_before + 1


@pytest.mark.parametrize(
    ("action", "fields"),
    [
        ("comment", {"text": "A word."}),
        ("approve", {"text": "Yes."}),
        ("request-changes", {"text": "Not yet."}),
        ("close", {"text": "Later."}),
        ("edit", {"title": "Another", "description": "Words."}),
    ],
    ids=["comment", "approve", "request-changes", "close", "edit"],
)
def test_duplicate_form_adds_one_event(
    open_pages: ProposalPages, action: str, fields: dict[str, str]
) -> None:
    proposal = open_pages.setup.submit_proposal()
    key = "fedcba9876543210" * 2
    first_location, second_location = (
        open_pages.send_form(proposal, action, key=key, **fields) for _ in range(2)
    )
    assert first_location == second_location
    events = open_pages.setup.proposal_actions.list_events(proposal)
    assert len(events) == 3  # opened, submitted, and this event


def test_late_duplicate_form_changes_nothing(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.open("Say more")
    open_pages.setup.append(proposal.id, "More.")
    keys = {action: f"{number:032x}" for number, action in enumerate(("submit", "close", "reopen"))}
    open_pages.send_form(proposal, "submit", key=keys["submit"])
    open_pages.send_form(proposal, "request-changes", text="Say who.")
    open_pages.setup.append(proposal.id, "You.")  # answers the request only when it is submitted
    open_pages.send_form(proposal, "submit", key=keys["submit"])
    assert open_pages.reload(proposal).state is ProposalState.CHANGES_REQUESTED
    open_pages.send_form(proposal, "close", key=keys["close"])
    open_pages.send_form(proposal, "reopen", key=keys["reopen"])
    open_pages.send_form(proposal, "close", key=keys["close"])
    assert open_pages.reload(proposal).is_open
    open_pages.send_form(proposal, "close")
    open_pages.send_form(proposal, "reopen", key=keys["reopen"])
    assert not open_pages.reload(proposal).is_open


def test_reused_key_with_another_text_is_refused(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    key = "00112233" * 4
    open_pages.send_form(proposal, "comment", key=key, text="First.")
    html = open_pages.send_refused_form(proposal, "comment", 409, key=key, text="Second, after going back.")
    assert "was already sent" in extract_text(html)
    assert "Second, after going back." in html
    assert len(open_pages.reload(proposal).content.threads) == 1


def test_section_comment_and_its_reply_are_shown(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    target = {"file": "guide.md", "slug": "use", "quote": "Use it."}
    location = open_pages.send_form(proposal, "comment", text="Why *so*?", view="inline", **target)
    assert location.startswith(f"/proposals/{proposal.id}/changes?view=inline#change-")
    changes = open_pages.get_proposal_page(proposal, "changes?view=inline")
    assert f'id="{location.partition("#")[2]}"' in changes
    assert "Why <em>so</em>?" in changes
    [thread] = open_pages.reload(proposal).content.threads
    comment_id = thread.comment.id
    reply_location = open_pages.send_form(proposal, "comment", text="Because.", reply_to=comment_id)
    html = open_pages.get_proposal_page(proposal)
    assert f'id="{reply_location.partition("#")[2]}"' in html
    assert "On guide.md#use Use it. Bea" in extract_text(html)


def test_comment_is_on_the_text_that_its_author_read(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal("Words that the reviewer reads.")
    html = open_pages.get_proposal_page(proposal, "changes")
    assert f'<input type="hidden" name="commit" value="{proposal.tip}">' in html.partition('id="change-')[2]
    repo = open_pages.setup.repo
    repo.git("switch", "-q", proposal.content.branch)
    repo.commit({"guide.md": GUIDE.partition("## Use")[0]}, "Remove a section")
    repo.git("switch", "-q", "main")
    target = {"file": "guide.md", "slug": "use", "quote": "the reviewer reads"}
    open_pages.send_form(proposal, "comment", text="Why?", commit=proposal.tip or "", **target)
    [thread] = open_pages.reload(proposal).content.threads
    assert thread.comment.commit == proposal.tip
    text = extract_text(open_pages.get_proposal_page(proposal))
    assert "Why?" in text
    assert "the reviewer reads" in text


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": ""}, "The comment is empty"),
        ({"text": "a" * 65_537}, "the limit is 65,536"),
        ({"text": "x", "file": "guide.md", "quote": "Not there"}, "is not in the text"),
        ({"text": "x", "reply_to": "0" * 16}, "has no such comment to reply to"),
    ],
    ids=["empty", "too-long", "foreign-quote", "foreign-comment"],
)
def test_invalid_comment_is_preserved_in_the_form(
    open_pages: ProposalPages, fields: dict[str, str], message: str
) -> None:
    proposal = open_pages.setup.submit_proposal()
    html = open_pages.send_refused_form(proposal, "comment", 400, **fields)
    assert message in extract_text(html)
    assert f">\n{fields['text']}</textarea>" in html
    assert 'name="reply_to" value="0000000000000000"' in html if "reply_to" in fields else True


@pytest.mark.parametrize("action", ["approve", "merge", "request-changes"])
def test_review_of_outdated_commit_shows_new_changes(open_pages: ProposalPages, action: str) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.setup.append(proposal.id, "Unseen words.", slug="install")
    html = open_pages.send_refused_form(proposal, action, 409, commit=proposal.tip or "", text="My verdict")
    text = extract_text(html)
    assert "New changes" in text
    assert "Unseen words." in text
    assert "My verdict" in html
    assert f'name="commit" value="{open_pages.reload(proposal).tip}"' in html
    assert open_pages.reload(proposal).reviews == ()


@pytest.mark.parametrize("commit", ["0" * 40, "main", "<script>"], ids=["unknown", "name", "hostile"])
def test_unknown_commit_is_refused(open_pages: ProposalPages, commit: str) -> None:
    proposal = open_pages.setup.submit_proposal()
    html = open_pages.send_refused_form(proposal, "approve", 409, commit=commit)
    assert "New changes" not in html


def test_approval_without_a_person_is_refused(protected_pages: ProposalPages) -> None:
    proposal = protected_pages.setup.submit_proposal(file="specs/api.md", slug="calls")
    protected_pages.sender_name = None
    html = protected_pages.send_refused_form(
        proposal, "approve", 403, commit=proposal.tip or "", text="Fine by me"
    )
    assert "Sign in with your token" in extract_text(html)
    assert f"/login?after=/proposals/{proposal.id}#[approve]" in unquote(html)
    assert "Fine by me" in html
    assert "docyard proposals approve" not in html
    assert "/login?" in protected_pages.get_proposal_page(proposal)
    protected_pages.setup.approve(proposal)
    html = protected_pages.send_refused_form(proposal, "merge", 403, commit=proposal.tip or "")
    assert "Sign in with your token" in extract_text(html)
    assert "the merge needs a person's token" in extract_text(protected_pages.get_proposal_page(proposal))


def test_approval_of_own_proposal_is_refused(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.proposal_actions.open("Mine", "", open_pages.setup.person())
    open_pages.setup.append(proposal.id, "One.")
    assert "You are an author of this proposal" in extract_text(open_pages.get_proposal_page(proposal))
    html = open_pages.send_refused_form(proposal, "approve", 403, text="I like it.")
    assert "The author of a proposal cannot approve it" in extract_text(html)
    assert f'action="/proposals/{proposal.id}/comment"' in html
    assert "Send it as a comment" in extract_text(html)


def test_change_request_is_answered_and_approved(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.send_form(proposal, "request-changes", commit=proposal.tip or "", text="Say **who**.")
    html = open_pages.get_proposal_page(proposal)
    assert "Bea requested changes" in extract_text(html)
    assert "<strong>who</strong>" in html
    assert "Bea requested changes, which are not made yet" in extract_text(html)
    open_pages.setup.append(proposal.id, "You.")
    open_pages.setup.proposal_actions.submit(proposal.id, AGENT_ACTOR)
    answer = "answered: the proposal was changed and submitted again"
    assert answer in extract_text(open_pages.get_proposal_page(proposal))
    open_pages.send_form(proposal, "approve")
    assert open_pages.reload(proposal).state is ProposalState.APPROVED


@loop_over("action", ["approve", "request-changes"])
def test_withdrawn_change_request_is_not_answered(open_pages: ProposalPages, action: str) -> None:
    proposal = open_pages.setup.submit_proposal()
    commit = proposal.tip or ""
    open_pages.send_form(proposal, "request-changes", commit=commit, text="Say who.")
    open_pages.send_form(proposal, action, commit=commit, text="Or not.")
    text = extract_text(open_pages.get_proposal_page(proposal))
    assert "replaced by a later review Say who." in text
    assert "answered" not in text


def test_proposal_is_closed_and_reopened(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.send_form(proposal, "close", text="Not now.")
    text = extract_text(open_pages.get_proposal_page(proposal))
    assert "closed this" in text
    assert "Not now." in text
    assert "was closed" in extract_text(open_pages.send_refused_form(proposal, "approve", 409))
    open_pages.send_form(proposal, "reopen")
    assert open_pages.reload(proposal).is_open


def test_title_and_description_are_edited(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.send_form(proposal, "edit", title="A better title", description="- one\n- two")
    page = open_pages.get_proposal_page(proposal)
    assert "<h1>A better title</h1>" in page
    assert "one two" in extract_text(page)
    html = open_pages.send_refused_form(proposal, "edit", 400, title=" ", description="Kept words")
    assert "Kept words" in html


def test_refresh_merges_the_target(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.setup.write("Meanwhile.")
    assert "main has 1 newer commit" in extract_text(open_pages.get_proposal_page(proposal))
    open_pages.send_form(proposal, "refresh")
    assert "merged its target at" in extract_text(open_pages.get_proposal_page(proposal))
    assert "newer commit" not in extract_text(open_pages.get_proposal_page(proposal))


@pytest.mark.parametrize("state", ["merged", "gone"])
def test_ended_proposal_accepts_only_comments(open_pages: ProposalPages, state: str) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    if state == "merged":
        setup.proposal_actions.merge(proposal.id, setup.person())
    else:
        setup.repo.git("branch", "-D", proposal.content.branch)
    for action in ("approve", "request-changes", "refresh"):
        open_pages.send_refused_form(proposal, action, 409, text="Late", commit=proposal.tip or "")
    for part in ("", "changes", "conflicts"):
        open_pages.get_proposal_page(proposal, part)
    open_pages.send_form(proposal, "comment", text="Thank you.")
    assert "Thank you." in open_pages.get_proposal_page(proposal)


def test_rewritten_branch_is_reported(open_pages: ProposalPages) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    open_pages.send_form(
        proposal, "comment", text="On old words.", file="guide.md", slug="use", quote="More."
    )
    open_pages.send_form(proposal, "approve", commit=proposal.tip or "")
    other_proposal = setup.open("Other")
    setup.append(other_proposal.id, "Another.", slug="install")
    setup.repo.git(
        "update-ref",
        f"refs/heads/{proposal.content.branch}",
        setup.proposal_actions.find(other_proposal.id).tip or "",
    )
    text = extract_text(open_pages.get_proposal_page(proposal))
    assert "Its branch was rewritten" in text
    assert "· void, since" in text
    assert "its text has changed since" in text


def test_unknown_action_or_proposal_is_not_found(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    assert open_pages.post(proposal, "explode").status_code == 404
    for part in ("", "/changes", "/conflicts"):
        assert "No proposal" in extract_text(open_pages.get(f"/proposals/zzzzzzzz{part}", 404))
    response = open_pages.client.post(f"/proposals/{proposal.id}/merge", data={"csrf": "other"})
    assert response.status_code == 403
    assert open_pages.reload(proposal).is_open
    # The URL of a form, and an id in upper case, redirect to the proposal.
    for name in (f"{proposal.id}/merge", proposal.id.upper()):
        response = open_pages.client.get(f"/proposals/{name}")
        assert (response.status_code, response.headers["location"]) == (303, f"/proposals/{proposal.id}")


def test_read_only_proposal_page_has_no_forms(tmp_path: Path) -> None:
    writer = create_pages(tmp_path)
    proposal = writer.setup.submit_proposal()
    reader = ProposalPages(writer.setup, read_only=True)
    for part in ("", "changes", "conflicts"):
        html = reader.get_proposal_page(proposal, part)
        assert f'action="/proposals/{proposal.id}' not in html
    response = reader.client.post(f"/proposals/{proposal.id}/merge", data={"csrf": "a value of this session"})
    assert response.status_code == 403
    assert reader.reload(proposal).is_open


@pytest.mark.parametrize("action", ["approve", "request-changes"])
def test_refused_review_preserves_the_reviewed_commit(open_pages: ProposalPages, action: str) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.setup.append(proposal.id, "Unseen words.", slug="install")
    html = open_pages.send_refused_form(proposal, action, 400, commit=proposal.tip or "", text="a" * 65_537)
    assert f'name="commit" value="{proposal.tip}"' in html
    html = open_pages.send_refused_form(proposal, action, 409, commit=proposal.tip or "", text="Shorter.")
    assert "Unseen words." in html


def test_review_of_unknown_commit_cannot_be_repeated(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    html = open_pages.send_refused_form(proposal, "approve", 409, commit="0" * 40, text="Fine by me")
    assert "Fine by me" in html
    assert f'action="/proposals/{proposal.id}/approve"' not in html


def test_concurrent_description_edits_lose_no_text(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    match = re.search(r'name="seen" value="([0-9a-f]+)"', open_pages.get_proposal_page(proposal))
    assert match is not None
    seen_value = match[1]
    open_pages.send_form(
        proposal, "edit", seen=seen_value, title=proposal.content.title, description="Of the first."
    )
    html = open_pages.send_refused_form(
        proposal, "edit", 409, seen=seen_value, title="Of the second", description="Other words."
    )
    assert "Current text" in html
    assert "Of the first.</textarea>" in html
    assert "Other words.</textarea>" in html
    assert open_pages.reload(proposal).content.description == "Of the first."
    new_match = re.search(r'name="seen" value="([0-9a-f]+)"', html)
    assert new_match is not None
    for _ in range(2):  # the form is sent twice
        open_pages.send_form(
            proposal, "edit", seen=new_match[1], title="Of the second", description="Both words."
        )
    assert open_pages.reload(proposal).content.title == "Of the second"


def test_links_of_merged_proposal_point_to_the_merge(open_pages: ProposalPages) -> None:
    setup, proposal = open_pages.setup, open_pages.setup.submit_proposal()
    merge_commit = setup.proposal_actions.merge(proposal.id, setup.person()).commit
    setup.repo.git("switch", "-q", proposal.content.branch)
    setup.repo.commit({"guide.md": "# Guide\n\nOtherwise.\n"}, "After the merge")
    setup.repo.git("switch", "-q", "main")
    assert f"/doc/guide.md?ref={merge_commit}" in open_pages.get_proposal_page(proposal, "changes")


def test_forms_of_a_thread_return_to_the_changed_section(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.send_form(proposal, "comment", text="Why?", file="guide.md", slug="use")
    [thread] = open_pages.reload(proposal).content.threads
    html = open_pages.get_proposal_page(proposal, "changes?view=inline")
    section_ids = re.findall(r'name="at" value="([^"]+)"', html)
    assert len(section_ids) == 2  # of a reply and of a resolution
    fields = {"view": "inline", "at": section_ids[0]}
    for action, values in [
        ("comment", {"reply_to": thread.comment.id, "text": "Because."}),
        ("resolve-comment", {"comment": thread.comment.id}),
        ("reopen-comment", {"comment": thread.comment.id}),
    ]:
        location = open_pages.send_form(proposal, action, **values, **fields)
        assert location == f"/proposals/{proposal.id}/changes?view=inline#{section_ids[0]}"
    hostile_fields = {**fields, "at": "//evil.example", "comment": thread.comment.id}
    location = open_pages.send_form(proposal, "resolve-comment", **hostile_fields)
    assert location == f"/proposals/{proposal.id}#said-{thread.comment.id}"


def test_comment_is_resolved_and_reopened_on_the_page(open_pages: ProposalPages) -> None:
    proposal = open_pages.setup.submit_proposal()
    id = open_pages.send_form(proposal, "comment", text="Why?").partition("#said-")[2]
    key = "0f" * 16
    for _ in range(2):
        location = open_pages.send_form(proposal, "resolve-comment", key=key, comment=id)
    assert location == f"/proposals/{proposal.id}#said-{id}"
    page = open_pages.get_proposal_page(proposal)
    assert "Resolved by Bea" in extract_text(page)
    open_pages.send_form(proposal, "reopen-comment", comment=id)
    assert "Resolved by" not in extract_text(open_pages.get_proposal_page(proposal))
    refusal = open_pages.send_refused_form(proposal, "resolve-comment", 404, comment="0" * 16)
    assert "no comment" in extract_text(refusal).lower()
    without_token = open_pages.client.post(
        f"/proposals/{proposal.id}/resolve-comment", data={"csrf": "wrong", "comment": id}
    )
    assert without_token.status_code == 403


def test_session_without_the_scope_of_reviews_has_no_buttons_for_decisions(
    protected_pages: ProposalPages,
) -> None:
    pages = protected_pages
    proposal = pages.setup.submit_proposal("One.", "specs/api.md", "calls")
    pages.send_form(proposal, "approve", commit=pages.reload(proposal).tip or "")
    ready_page = pages.get_proposal_page(proposal)
    pages.scopes -= {REVIEW_SCOPE}
    page = pages.get_proposal_page(proposal)
    for action in ("approve", "request-changes", "merge"):
        form = f'action="/proposals/{proposal.id}/{action}"'
        assert form in ready_page
        assert form not in page
        assert form not in pages.get_proposal_page(proposal, "changes")
    assert ">Merge</button>" not in page
    assert extract_text(page).count("Your session lacks the scope docs:review") == 2
    assert f'action="/proposals/{proposal.id}/comment"' in page
    refusal = pages.send_refused_form(proposal, "approve", 403, commit=pages.reload(proposal).tip or "")
    assert "Your session lacks the scope docs:review" in extract_text(refusal)
    assert "names no person" not in refusal


def test_session_without_the_scope_of_reviews_merges_unprotected_documents(
    open_pages: ProposalPages,
) -> None:
    proposal = open_pages.setup.submit_proposal()
    open_pages.scopes -= {REVIEW_SCOPE}
    assert f'action="/proposals/{proposal.id}/merge"' in open_pages.get_proposal_page(proposal)
    open_pages.send_form(proposal, "merge", commit=proposal.tip or "")
