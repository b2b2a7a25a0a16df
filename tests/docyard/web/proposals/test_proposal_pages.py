"""The pages of proposals: the conversation, the changes, and the escaping of user text."""

from __future__ import annotations

from pathlib import Path

import pytest

from docyard.web.proposals import conversation
from tests.docyard.web.proposals.pages import ProposalPages, create_pages, extract_text
from tests.loops import loop_over
from tests.workspace.proposals.actions.proposal_setup import AGENT_ACTOR, GUIDE, RULE
from workspace.proposals.proposal import Proposal

PAGE_SIZE = 8
HOSTILE_MARKUP = "<script>window.docyardPwned=1</script><img src=x onerror=alert(1)>\"'>"


@pytest.fixture(scope="module")
def hostile_pages(tmp_path_factory: pytest.TempPathFactory) -> tuple[ProposalPages, Proposal]:
    """Return a proposal in which each text of a user is markup."""
    pages = create_pages(tmp_path_factory.mktemp("hostile"))
    setup = pages.setup
    proposal = setup.proposal_actions.open(
        HOSTILE_MARKUP, f"{HOSTILE_MARKUP}\n\n[x](javascript:alert(1))", AGENT_ACTOR, submit=True
    )
    setup.repo.git("switch", "-q", proposal.content.branch)
    text = GUIDE.replace("Run it.", HOSTILE_MARKUP).replace("## Use", f"## {HOSTILE_MARKUP}")
    setup.repo.commit(
        {"guide.md": text, '<b>"x".md': f"# {HOSTILE_MARKUP}\n", "<i>.png": b"\0"}, HOSTILE_MARKUP
    )
    setup.repo.git("switch", "-q", "main")
    person = setup.person("eve")
    setup.proposal_actions.comment(
        proposal.id, person, HOSTILE_MARKUP, file="guide.md", slug="install", quote=HOSTILE_MARKUP
    )
    return pages, proposal


@loop_over(
    "part",
    ["", "changes", "changes?view=inline", "changes?view=<script>&path=<script>", "conflicts"],
    ids=["conversation", "side", "inline", "query", "conflicts"],
)
def test_user_text_is_escaped(hostile_pages: tuple[ProposalPages, Proposal], part: str) -> None:
    pages, proposal = hostile_pages
    html = pages.get_proposal_page(proposal, part)
    main = html.partition("<main")[2]
    assert "<script" not in main
    assert "onerror=" not in main.replace("&lt;img src=x onerror=alert(1)&gt;", "")
    assert "javascript:" not in main or 'href="javascript:' not in main
    assert "<b>" not in main


def test_hostile_text_is_escaped_in_list_and_refusals(hostile_pages: tuple[ProposalPages, Proposal]) -> None:
    pages, proposal = hostile_pages
    for html in (
        pages.get("/proposals"),
        pages.send_refused_form(
            proposal,
            "comment",
            400,
            text="",
            file=HOSTILE_MARKUP,
            quote=HOSTILE_MARKUP,
            slug=HOSTILE_MARKUP,
            reply_to=HOSTILE_MARKUP,
        ),
        pages.send_refused_form(proposal, "edit", 400, title=" ", description=HOSTILE_MARKUP),
    ):
        assert "<script" not in html.partition("<main")[2]


def test_comments_are_shown_below_their_sections(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    setup = pages.setup
    proposal = setup.submit_proposal()
    setup.proposal_actions.comment(
        proposal.id, setup.person(), "On the section.", file="guide.md", slug="use"
    )
    setup.proposal_actions.comment(proposal.id, setup.person(), "On the document.", file="guide.md")
    setup.proposal_actions.comment(proposal.id, setup.person(), "On another.", file="notes.md")
    setup.proposal_actions.comment(proposal.id, setup.person(), "On all.")
    for view in ("side", "inline", "rendered"):
        text = extract_text(pages.get_proposal_page(proposal, f"changes?view={view}"))
        assert "On the section." in text
        assert "On the document." in text
        assert "2 comments elsewhere" in text
        assert "On another." not in text
    conversation_text = extract_text(pages.get_proposal_page(proposal))
    for comment in ("On the section.", "On the document.", "On another.", "On all."):
        assert comment in conversation_text
    assert "On notes.md Bea" in conversation_text


@pytest.fixture
def pages_with_proposal(tmp_path: Path) -> tuple[ProposalPages, Proposal]:
    """Return the pages of a workspace with a submitted proposal."""
    pages = create_pages(tmp_path)
    return pages, pages.setup.submit_proposal("Queried.")


@loop_over("query", ["?offset=5", "?offset=x&view=y", "?path=no.md", "?path=guide.md", "?view=rendered"])
def test_any_query_of_changes_renders(
    pages_with_proposal: tuple[ProposalPages, Proposal], query: str
) -> None:
    pages, proposal = pages_with_proposal
    pages.get_proposal_page(proposal, f"changes{query}")


def test_view_that_was_chosen_last_is_the_default(
    pages_with_proposal: tuple[ProposalPages, Proposal],
) -> None:
    pages, proposal = pages_with_proposal
    current_view = '<a href="/proposals/{}/changes?view={}" aria-current="true">'
    for view, query in (
        ("side", ""),
        ("rendered", "?view=rendered"),
        ("rendered", ""),
        ("rendered", "?view=<b>"),
        ("inline", "?view=inline"),
    ):
        html = pages.get_proposal_page(proposal, f"changes{query}")
        assert current_view.format(proposal.id, view) in html, (view, query)


def test_long_conversation_is_paged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation, "ENTRIES_PER_PAGE", PAGE_SIZE)
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    for number in range(10):
        pages.setup.proposal_actions.comment(proposal.id, AGENT_ACTOR, f"Word {number}.")
    last_page_text = extract_text(pages.get_proposal_page(proposal).partition('class="pages"')[2])
    assert "4 earlier entries" in last_page_text
    assert "Word 9." in last_page_text
    assert "Word 1." not in last_page_text
    first_page_text = extract_text(pages.get(f"/proposals/{proposal.id}?from=0"))
    assert "Word 1." in first_page_text
    assert "Later entries" in first_page_text
    for position in ("-1", "x", "999999", "9" * 40):
        pages.get(f"/proposals/{proposal.id}?from={position}")


def test_proposal_page_shows_first_changes(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    page = pages.get_proposal_page(pages.setup.submit_proposal("A very new text."))
    assert page.index("new text") < page.index('id="conversation"')
    assert "/changes" in page


def test_overlaps_and_checks_are_shown(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal("One. See [it](missing.md).")
    other_proposal = pages.setup.submit_proposal("Other.")
    text = extract_text(pages.get_proposal_page(proposal))
    assert "Overlaps" in text
    assert f"/proposals/{other_proposal.id}" in pages.get_proposal_page(proposal)
    assert "Links: 1 problem" in text


def test_commits_are_entries_of_the_conversation(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    setup = pages.setup
    proposal = setup.submit_proposal("One.")
    for number in range(7):
        setup.append(proposal.id, f"Text {number}.")
    setup.proposal_actions.submit(proposal.id, AGENT_ACTOR)
    html = pages.get_proposal_page(proposal)
    text = extract_text(html)
    sentences = ("added a commit:", "requested a review", "added 7 commits:", "and 2 more")
    positions = [text.index(sentence) for sentence in sentences]
    assert positions == sorted(positions)
    assert f'href="/commit/{proposal.tip}"' in html.partition('id="conversation"')[2]


def test_open_threads_are_named_above_the_conversation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "ENTRIES_PER_PAGE", 2)
    pages = create_pages(tmp_path)
    setup = pages.setup
    proposal = setup.submit_proposal()
    on_section = setup.proposal_actions.comment(
        proposal.id, setup.person(), "On the section.", file="guide.md", slug="use"
    )
    on_all = setup.proposal_actions.comment(proposal.id, setup.person(), "On all.")
    setup.proposal_actions.comment(proposal.id, setup.person(), "On all, again.")
    html = pages.get_proposal_page(proposal)
    text = extract_text(html)
    assert "3 comments are open, which do not prevent a merge. Merge" in text
    waiting = "Bea waits for an agent for Ada :"
    assert (
        f"3 open comments {waiting} On the section. on guide.md#use "
        f"{waiting} On all. {waiting} On all, again."
    ) in text
    first_url = f"/proposals/{proposal.id}?from=2#said-{on_section.event_ids[0]}"
    assert f'href="{first_url}"' in html
    assert f'id="said-{on_section.event_ids[0]}"' in pages.get(first_url.partition("#")[0])
    assert f'href="/proposals/{proposal.id}#said-{on_all.event_ids[0]}"' in html
    pages.send_form(proposal, "resolve-comment", comment=on_section.event_ids[0])
    assert "2 comments are open" in extract_text(pages.get_proposal_page(proposal))
    pages.send_form(proposal, "merge", commit=proposal.tip or "")
    assert "comments are open" not in extract_text(pages.get_proposal_page(proposal))


def test_open_thread_waits_for_the_one_who_answers_next(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    actions, bea = pages.setup.proposal_actions, pages.setup.person()
    proposal = pages.setup.submit_proposal()
    text = "Is it so?\n\n```suggestion\nLess.\n```"
    actions.comment(proposal.id, AGENT_ACTOR, "Which port do you mean?")
    target = {"file": "guide.md", "slug": "use", "quote": "More."}
    thread = actions.comment(proposal.id, bea, text, **target).event_ids[0]
    text = extract_text(pages.get_proposal_page(proposal))
    assert "an agent for Ada waits for a reviewer : Which port do you mean?" in text
    assert "Bea waits for an agent for Ada : Is it so? on guide.md#use" in text
    reply = actions.comment(proposal.id, AGENT_ACTOR, "It is.", reply_to=thread).event_ids[0]
    html = pages.get_proposal_page(proposal)
    assert "2 open comments an agent for Ada waits for you : It is. on guide.md#use" in extract_text(html)
    assert f'href="/proposals/{proposal.id}#said-{reply}">It is.</a>' in html
    pages.sender_name = "cid"
    assert "an agent for Ada waits for Bea : It is." in extract_text(pages.get_proposal_page(proposal))
    assert "2 open comments" in extract_text(pages.get("/proposals"))


def test_draft_that_may_be_merged_has_a_note_about_its_missing_review(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.open()
    pages.setup.append(proposal.id, "More.")
    html = pages.get_proposal_page(proposal)
    assert extract_text(html).count("This is a draft: no review was requested.") == 2
    assert 'href="#[merge]"' not in html
    pages.setup.proposal_actions.submit(proposal.id, AGENT_ACTOR)
    html = pages.get_proposal_page(proposal)
    assert "This is a draft" not in html
    assert '<a class="button" href="#[merge]">Merge</a>' in html


def test_change_of_a_key_names_the_front_matter_once(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    setup = pages.setup
    proposal = setup.submit_proposal()
    setup.repo.git("switch", "-q", proposal.content.branch)
    setup.repo.commit({"guide.md": f"---\ntype: manual\n---\n{GUIDE}"}, "Add a type")
    setup.repo.git("switch", "-q", "main")
    assert extract_text(pages.get_proposal_page(proposal, "changes")).count("Front matter") == 1


def test_changes_lead_to_the_merge(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    assert f'href="/proposals/{proposal.id}#[merge]"' in pages.get_proposal_page(proposal, "changes")
    assert 'id="[merge]"' in pages.get_proposal_page(proposal)
    pages.send_form(proposal, "request-changes", text="No.", commit=proposal.tip or "")
    assert 'id="[merge]"' in pages.get_proposal_page(proposal)


def test_shown_changes_begin_with_edits_of_existing_documents(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    setup = pages.setup
    proposal = setup.submit_proposal("An edit.")
    setup.repo.git("switch", "-q", proposal.content.branch)
    sections = "".join(f"\n## Part {number}\n\nText.\n" for number in range(5))
    setup.repo.commit({"first.md": f"# First\n{sections}"}, "Add a document")
    setup.repo.git("switch", "-q", "main")
    text = extract_text(pages.get_proposal_page(proposal))
    assert text.index("An edit.") < text.index("first.md")
    assert "3 of 7 changed sections" in text


def test_new_and_removed_documents_are_named_above_the_conversation(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    setup = pages.setup
    proposal = setup.submit_proposal("An edit.")
    setup.repo.git("switch", "-q", proposal.content.branch)
    sections = "".join(f"\n## Part {number}\n\nText.\n" for number in range(3))
    changed_guide = GUIDE.replace("Introduction", "Begin").replace("Run", "Start").replace("Use it", "Try")
    setup.repo.commit({"guide.md": changed_guide, "new.md": f"# First\n{sections}"}, "Add a document")
    setup.repo.git("rm", "-q", "notes.md")
    setup.repo.git("commit", "-qm", "Remove the notes")
    setup.repo.git("switch", "-q", "main")
    text = extract_text(pages.get_proposal_page(proposal)).partition("Conversation Changes")[2]
    changes = text.partition("changed sections")[0]
    assert "new.md + added Added with 3 sections: Part 0 , Part 1 , Part 2 ." in changes
    assert "notes.md \u2212 removed Removed." in changes


def test_tables_above_the_conversation_are_rendered(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    table = "| Call | Limit |\n|---|---|\n| track | 10 a second |\n"
    pages.setup.write(table, slug="use")
    proposal = pages.setup.open()
    pages.setup.repo.git("switch", "-q", proposal.content.branch)
    old_text = (pages.setup.repo.path / "guide.md").read_text("utf-8")
    pages.setup.repo.commit({"guide.md": old_text.replace("| 10", "| 20")}, "Raise the limit")
    pages.setup.repo.git("switch", "-q", "main")
    page = pages.get_proposal_page(proposal)
    assert '<td><del class="word">10</del> a second</td>' in page
    assert '<td><ins class="word">20</ins> a second</td>' in page
    assert "| track" not in page


def test_introduction_is_named_for_people(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    setup = pages.setup
    proposal = setup.submit_proposal("More.", slug="_preamble")
    setup.submit_proposal("Other.", slug="_preamble")
    setup.proposal_actions.comment(
        proposal.id, setup.person(), "Why?", file="guide.md", slug="_preamble", quote="More."
    )
    page = pages.get_proposal_page(proposal)
    text = extract_text(page)
    assert "_preamble" not in text
    assert "Append to the introduction of guide.md" in text
    assert "On guide.md, introduction" in text
    assert "_preamble" not in extract_text(pages.get_proposal_page(proposal, "changes"))


def test_unknown_proposal_leads_to_the_list(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    proposal = pages.setup.submit_proposal()
    html = pages.get(f"/proposals/{proposal.id[:-1]}0", 404)
    assert 'href="/proposals">All open proposals' in html
    assert f'href="/proposals/{proposal.id}">Say more ({proposal.id})' in html


def test_removed_and_added_words_are_separate_in_copied_text(tmp_path: Path) -> None:
    pages = create_pages(tmp_path)
    pages.setup.write("A file has at most 1 MB.", slug="use")
    proposal = pages.setup.open()
    pages.setup.repo.git("switch", "-q", proposal.content.branch)
    old_text = (pages.setup.repo.path / "guide.md").read_text("utf-8")
    pages.setup.repo.commit({"guide.md": old_text.replace("1 MB", "4 MB")}, "Raise the limit")
    pages.setup.repo.git("switch", "-q", "main")
    html = pages.get_proposal_page(proposal, "changes?view=inline")
    assert '<del>1</del><span class="became"> → </span><ins>4</ins> MB' in html


def test_reviews_are_shown_in_spite_of_a_conflict(tmp_path: Path) -> None:
    pages = create_pages(tmp_path, RULE.replace("= 1", "= 2"))
    setup = pages.setup
    for name in ("bea", "cid"):
        setup.person(name)
    proposal = setup.submit_proposal("Mine.", "specs/api.md", "calls")
    setup.approve(proposal)
    assert "Reviews 1 of 2 approvals approved by Bea" in extract_text(pages.get_proposal_page(proposal))
    setup.repo.commit({"specs/api.md": "# API\n"})
    text = extract_text(pages.get_proposal_page(proposal))
    assert "1 conflict with main to be resolved" in text
    assert "Reviews 1 of 2 approvals approved by Bea" in text
